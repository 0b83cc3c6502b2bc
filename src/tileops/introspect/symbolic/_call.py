"""The proxy call: an instance of a subclass of the call spec whose facts ask the execution."""

from __future__ import annotations

from typing import Any

from tileops.call_spec import CallSpec
from tileops.device import DeviceFacts
from tileops.introspect.formula import DEVICE_FACTS, Domain, FactDomain, is_none
from tileops.introspect.symbolic._number import SymbolicNumber
from tileops.introspect.symbolic._proxies import SymbolicText
from tileops.introspect.symbolic._run import Run
from tileops.introspect.symbolic._shadow import CallProxy

__all__ = ["proxy_call"]

_RUN = "tileops run"
_CHANGED = "tileops changed facts"


def proxy_call(spec: type[CallSpec], domain: Domain, unmodelled: dict[str, str], run: Run) -> Any:
    """Return a call of which nothing is known but that it is in *domain*.

    Args:
        spec: The call spec.
        domain: Its facts.
        unmodelled: Why a fact is not in the domain, by name.
        run: The execution that the facts ask.
    """
    return _made(_proxy_class(spec, domain, unmodelled), run, {})


def _made(kind: type, run: Run, changed: dict[str, Any]) -> Any:
    call: Any = object.__new__(kind)
    vars(call).update({_RUN: run, _CHANGED: changed})
    return call


def _proxy_class(spec: type[CallSpec], domain: Domain, unmodelled: dict[str, str]) -> type:
    members: dict[str, Any] = {one.name: _modelled(one) for one in domain.all_facts}
    members |= {name: _not_modelled(name, why) for name, why in unmodelled.items()}
    members |= {name: _refused(name) for name in _OUT_OF_REACH}
    members |= {
        "__class__": property(lambda self: spec),
        "with_facts": _with_facts,
        "device_facts": _device_facts,
        "describe": _describe,
        "__copy__": lambda self: self,
        "__deepcopy__": lambda self, memo: self,
        "__module__": __name__,
    }
    return type(f"Proxy{spec.__name__}", (CallProxy, spec), members)


def _modelled(one: FactDomain) -> property:
    def read(self: Any) -> Any:
        changed = vars(self)[_CHANGED]
        if one.name in changed:
            return changed[one.name]
        run: Run = vars(self)[_RUN]
        if one.kind == "choice":
            return run.pick(one)
        if one.optional and run.branch(is_none(one.name)):
            return None
        return SymbolicNumber.of_fact(run, one)

    return property(read)


def _not_modelled(name: str, why: str) -> property:
    def read(self: Any) -> Any:
        changed = vars(self)[_CHANGED]
        if name in changed:
            return changed[name]
        return vars(self)[_RUN].give_up(f"reads {name}, {why}")

    return property(read)


_OUT_OF_REACH = (
    "device",
    "stated_facts",
    "assumed_board",
    "resolved",
    "with_device",
    "options",
    "__eq__",
    "__hash__",
    "__repr__",
    "__str__",
    "__format__",
    "__reduce_ex__",
)


def _refused(name: str) -> property:
    def read(self: Any) -> Any:
        return vars(self)[_RUN].give_up(f"asks the call for {name}, which is more than its facts")

    return property(read)


def _with_facts(self: Any, **changes: Any) -> Any:
    run: Run = vars(self)[_RUN]
    if type(self).__post_init__ is not CallSpec.__post_init__:
        run.give_up("changes facts of a call spec that has a __post_init__ of its own")
    beyond = set(changes) - {*_facts(type(self))}
    if beyond:
        run.give_up(f"changes {', '.join(sorted(beyond))} of a call")
    return _made(type(self), run, {**vars(self)[_CHANGED], **changes})


def _facts(kind: Any) -> tuple[str, ...]:
    return tuple(name for name in kind.__dataclass_fields__ if name != "device")


def _device_facts(self: Any) -> DeviceFacts:
    return DeviceFacts(**{name: getattr(self, name) for name in DEVICE_FACTS[1:]})


def _describe(self: Any) -> str:
    return SymbolicText.of(vars(self)[_RUN], "{call}")
