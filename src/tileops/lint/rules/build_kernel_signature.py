"""The rule `build-kernel-signature`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._mappings import listed
from tileops.lint._registrations import argument, registrations, text
from tileops.lint._rule import Report, Rule
from tileops.lint.facts import FunctionFacts, Param
from tileops.lint.index import FunctionNode, Project

_HEAD = "from tileops.backend import register_kernel_builder\n\n\n"
_CALL = '\n\nregister_kernel_builder(\n    op="LayerNormFwdOp", target="acme", build_kernel=%s\n)\n'
_REST = "of LayerNormFwdOp: inputs input, weight and bias, and keywords normalized_shape and eps"


class BuildKernelSignature(Rule):
    """A builder takes what the op's signature says: its inputs, then its parameters as keywords.

    Each input is passed by position, in the order of ``signature.inputs`` of the manifest, and
    each of ``signature.params`` by keyword.

    Why:
        The builder is called when the op is. Anything else raises a ``TypeError`` then.

    Limits:
        Functions only, without decorators: a lambda, a class or a method is unknown. Names of
        positional parameters and further parameters with defaults do not matter. An op without
        an entry in the installed manifest is unknown.
    """

    id = "build-kernel-signature"
    severity = Severity.ERROR
    cross_file = True

    VALID = (
        Valid(
            "as the manifest says",
            _HEAD
            + "def build(x, weight, bias, *, normalized_shape, eps):\n    return Acme(eps)\n"
            + _CALL % "build",
        ),
        Valid(
            "variadic",
            _HEAD + "def build(*specs, **params):\n    return Acme(params)\n" + _CALL % "build",
        ),
        Valid(
            "parameters that are not keyword-only, and one more with a default",
            _HEAD
            + "def build(x, weight, bias, normalized_shape, eps, fast=True):\n    return Acme()\n"
            + _CALL % "build",
        ),
        Valid("a lambda", _HEAD + _CALL.lstrip("\n") % "lambda: print"),
        Valid(
            "decorated",
            _HEAD + "@adapt\ndef build(x):\n    return Acme(x)\n" + _CALL % "build",
        ),
        Valid(
            "suppressed",
            _HEAD
            + "def build(x):  # tileops: ignore[build-kernel-signature] -- shows the error\n"
            + "    return Acme(x)\n"
            + _CALL % "build",
        ),
    )
    INVALID = (
        Invalid(
            "an input too few",
            _HEAD
            + "def [|build|](x, weight, *, normalized_shape, eps):\n    return Acme(eps)\n"
            + _CALL % "build",
            f"build takes 2 positional arguments, but is called with the 3 inputs {_REST}",
        ),
        Invalid(
            "an input too many",
            _HEAD
            + "def [|build|](x, weight, bias, out, *, normalized_shape, eps):\n"
            + "    return Acme(eps)\n"
            + _CALL % "build",
            f'build requires "out", which is not passed: it is called with the 3 inputs {_REST}',
        ),
        Invalid(
            "a keyword that is missing, and one that is not passed",
            _HEAD
            + "def [|build|](x, weight, bias, *, normalized_shape, epsilon):\n"
            + "    return Acme(epsilon)\n"
            + _CALL % "build",
            f'build does not take "eps", but is called with the 3 inputs {_REST}',
        ),
        Invalid(
            "a builder of another file",
            {
                "tileops_acme/builders.py": (
                    "def [|build_layer_norm|](specs, *, normalized_shape, eps): ...\n"
                ),
                "tileops_acme/__init__.py": (
                    "from tileops.backend import register_kernel_builder\n\n"
                    "from .builders import build_layer_norm\n\n"
                    'register_kernel_builder("LayerNormFwdOp", "acme", build_layer_norm)\n'
                ),
            },
            "build_layer_norm takes 1 positional argument, but is called with the 3 inputs "
            + _REST,
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the builders that cannot be called as the manifest says."""
        for module, site in registrations(project, "register_kernel_builder"):
            op = text(project, module, site, "op")
            stated = argument(site, "build_kernel")
            found = None if stated is None else project.resolve(module, stated)
            if op is None or not isinstance(found, FunctionNode) or found.facts.decorators:
                continue
            declared = _declared(op)
            if declared is None:
                continue
            fault = _fault(found.facts, *declared)
            if fault:
                message = f"{found.facts.name} {fault} the {_called(op, *declared)}"
                name = found.facts.name
                yield self.report(found.module, found.facts.name_span, message, symbol=name)


def _declared(op: str) -> tuple[list[str], list[str]] | None:
    """Return the inputs and the parameters of an op of the manifest, None when it has none."""
    from tileops import manifest

    entry = manifest.load().get(op)
    if entry is None:
        return None
    signature = entry.signature
    return [one.name for one in signature.inputs], [one.name for one in signature.params]


def _called(op: str, inputs: list[str], params: list[str]) -> str:
    keywords = f"keywords {listed(params)}" if params else "no keywords"
    count = f"{len(inputs)} input{'s' if len(inputs) != 1 else ''}"
    return f"{count} of {op}: inputs {listed(inputs) if inputs else 'none'}, and {keywords}"


def _fault(function: FunctionFacts, inputs: list[str], params: list[str]) -> str:
    """Return why a function cannot be called with the inputs and parameters, "" when it can."""
    by_kind: dict[str, list[Param]] = {"positional": [], "keyword": []}
    for param in function.params:
        by_kind.setdefault(param.kind, []).append(param)
    positional = by_kind["positional"]
    if len(positional) < len(inputs) and "variadic" not in by_kind:
        plural = "s" if len(positional) != 1 else ""
        return f"takes {len(positional)} positional argument{plural}, but is called with"
    open_ones = [*positional[len(inputs) :], *by_kind["keyword"]]
    names = {param.name for param in open_ones}
    missing = next((name for name in params if name not in names), None)
    if missing is not None and "mapping" not in by_kind:
        return f'does not take "{missing}", but is called with'
    required = next((p for p in open_ones if p.default is None and p.name not in params), None)
    if required is not None:
        return f'requires "{required.name}", which is not passed: it is called with'
    return ""
