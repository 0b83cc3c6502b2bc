"""Where an op is asked for a kernel or a key, and with which call spec."""

from dataclasses import dataclass

from tileops.lint.facts import Site, Value
from tileops.lint.index._classes import ClassNode, Kind
from tileops.lint.index._modules import Module
from tileops.lint.index._resolver import Resolver

__all__ = ["Requested", "requested"]


@dataclass(frozen=True, slots=True)
class Requested:
    """One ``kernel_for`` or ``key_for`` call, or one pair of a ``requests`` method.

    Attributes:
        module: Where it stands.
        via: "kernel_for", "key_for" or "requests".
        op: The op class asked, None when it cannot be told.
        key: The interface key as written, None when it is not given.
        spec: The call spec as written.
        made: The expression the spec is made by: ``spec`` itself, what a local is bound to, or
            the body of a lambda; None when it cannot be followed.
        site: The call, or the pair, with its surroundings.
    """

    module: Module
    via: str
    op: ClassNode | None
    key: Value | None
    spec: Value | None
    made: Value | None
    site: Site


def requested(resolver: Resolver, module: Module, site: Site) -> Requested:
    """Return what a site asks for."""
    if site.call.kind == "tuple":
        key, spec = site.call.items
        op = _kinds(module.classes.get(site.owner))
        return Requested(module, "requests", op, key, spec, _made(site, spec), site)
    via = site.callee.rpartition(".")[2]
    arguments = site.call.arguments
    key_given = arguments[0] if arguments else site.call.keyword("interface")
    spec_given = arguments[1] if len(arguments) > 1 else site.call.keyword("call")
    op = _receiver(resolver, module, site)
    return Requested(module, via, op, key_given, spec_given, _made(site, spec_given), site)


def _made(site: Site, spec: Value | None) -> Value | None:
    if spec is not None and spec.kind == "name":
        spec = site.bindings.get(spec.name)
    if spec is not None and spec.kind == "lambda":
        spec = spec.items[0]
    return spec


def _receiver(resolver: Resolver, module: Module, site: Site) -> ClassNode | None:
    """Return the op a method is called on: ``self``, or an op made in the same function."""
    callee = site.call.items[0]
    if callee.kind == "attribute" and callee.items[0].kind == "call":
        return _kinds(resolver.resolve_class(module, callee.items[0].items[0]))
    name, _, rest = callee.name.partition(".")
    if "." in rest or not rest:
        return None
    if name in ("self", "cls"):
        return _kinds(module.classes.get(site.owner))
    made = site.bindings.get(name)
    if made is None and name in module.facts.constants:
        made = module.facts.constants[name]
    if made is None or made.kind != "call":
        return None
    return _kinds(resolver.resolve_class(module, made.items[0]))


def _kinds(node: ClassNode | None) -> ClassNode | None:
    return node if node is not None and node.kind is Kind.OP else None
