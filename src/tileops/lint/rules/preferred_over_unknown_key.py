"""The rule `preferred-over-unknown-key`."""

import difflib
from collections.abc import Iterator

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.index import ClassNode, Dispatch, Located, Project

_HEAD = """\
from tileops.backend import Kernel, KernelInterface, register_kernel_type
from tileops.ops.op import Op


class DecodeFwdInterface(KernelInterface): ...


class PrefillFwdInterface(KernelInterface): ...


class DecodeKernel(Kernel, DecodeFwdInterface): ...


class PrefillKernel(Kernel, PrefillFwdInterface): ...


"""
_OP = """

class DecodeFwdOp(Op):
    kernel_types = {"gqa_decode": DecodeKernel, "prefill": PrefillKernel, "fast": FastKernel}
    interfaces = {"decode": DecodeFwdInterface, "prefill": PrefillFwdInterface}
"""
_FAST = "class FastKernel(Kernel, DecodeFwdInterface):\n    preferred_over = frozenset({%s})\n"


class PreferredOverUnknownKey(Rule):
    """``preferred_over`` names other keys of the same op and interface.

    It is checked for every op and interface the class is registered in, whether the class states
    the value itself or inherits it.

    Why:
        A key that was renamed, or belongs to another interface, outranks nothing: constructing
        the op raises. A subclass that inherits its parent's preference may be registered under
        the very key the parent prefers to.

    Limits:
        Keys that other distributions register are not seen. Where an op's keys cannot all be
        read, the rule is silent. The fix picks the most similar key.
    """

    id = "preferred-over-unknown-key"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.UNSAFE,)

    VALID = (
        Valid("another key", {"src/tileops/ops/d.py": _HEAD + _FAST % '"gqa_decode"' + _OP}),
        Valid(
            "none",
            {
                "src/tileops/ops/d.py": _HEAD
                + "class FastKernel(Kernel, DecodeFwdInterface): ...\n"
                + _OP
            },
        ),
        Valid(
            "a key that a test registers",
            {
                "src/tileops/ops/d.py": _HEAD + _FAST % '"late"' + _OP,
                "tests/test_late.py": (
                    "from tileops.backend import register_kernel_type\n\n\n"
                    "def test_late():\n"
                    '    register_kernel_type("DecodeFwdOp", "late", object)\n'
                ),
            },
        ),
        Valid(
            "keys that cannot be read",
            {
                "src/tileops/ops/d.py": _HEAD
                + _FAST % '"anything"'
                + _OP.replace('"prefill": PrefillKernel', "**computed()")
            },
        ),
        Valid(
            "suppressed",
            {
                "src/tileops/ops/d.py": _HEAD
                + _FAST.replace(
                    "})", "})  # tileops: ignore[preferred-over-unknown-key] -- planned key"
                )
                % '"planned"'
                + _OP
            },
        ),
    )
    INVALID = (
        Invalid(
            "a key that was renamed",
            {"src/tileops/ops/d.py": _HEAD + _FAST % "[|'gqa_decoder'|]" + _OP},
            'FastKernel is preferred over "gqa_decoder", which is no key of DecodeFwdOp; '
            'did you mean "gqa_decode"?',
            fixed={"src/tileops/ops/d.py": _HEAD + _FAST % "'gqa_decode'" + _OP},
        ),
        Invalid(
            "a key of another interface",
            {"src/tileops/ops/d.py": _HEAD + _FAST % '"gqa_decode", [|"prefill"|]' + _OP},
            'FastKernel is preferred over "prefill", which is a key of DecodeFwdOp but not of '
            "DecodeFwdInterface",
        ),
        Invalid(
            "its own key",
            {"src/tileops/ops/d.py": _HEAD + _FAST % '[|"fast"|]' + _OP},
            'FastKernel is preferred over "fast", its own key in DecodeFwdOp',
        ),
        Invalid(
            "inherited, and registered under the key the parent prefers to",
            {
                "src/tileops/ops/d.py": _HEAD
                + "class Base(Kernel, DecodeFwdInterface):\n"
                + '    preferred_over = frozenset({"fast"})\n\n\n'
                + "class [|FastKernel|](Base): ...\n"
                + _OP
            },
            'FastKernel inherits from Base that it is preferred over "fast", its own key in '
            "DecodeFwdOp",
        ),
        Invalid(
            "registered from a backend, key in a constant",
            {
                "src/tileops/ops/d.py": _HEAD + _FAST % '"gqa_decode"' + _OP,
                "src/tileops_acme/keys.py": 'OLD = "decode_old"\n',
                "src/tileops_acme/__init__.py": (
                    "from tileops.backend import Kernel, register_kernel_type\n"
                    "from tileops.ops.d import DecodeFwdInterface\n"
                    "from tileops_acme.keys import OLD\n\n\n"
                    "class AcmeKernel(Kernel, DecodeFwdInterface):\n"
                    "    preferred_over = frozenset({[|OLD|]})\n\n\n"
                    'register_kernel_type("DecodeFwdOp", "acme", AcmeKernel)\n'
                ),
            },
            'AcmeKernel is preferred over "decode_old", which is no key of DecodeFwdOp; '
            'did you mean "gqa_decode"?',
        ),
        Invalid(
            "two classes registered under one key",
            {
                "src/tileops/ops/d.py": _HEAD + _FAST % '"gqa_decode"' + _OP,
                "src/tileops_acme/__init__.py": (
                    "from tileops.backend import Kernel, register_kernel_type\n"
                    "from tileops.ops.d import DecodeFwdInterface\n\n\n"
                    "class FirstKernel(Kernel, DecodeFwdInterface):\n"
                    '    preferred_over = frozenset({[|"acme_one"|]})\n\n\n'
                    "class SecondKernel(Kernel, DecodeFwdInterface):\n"
                    '    preferred_over = frozenset({[|"acme_two"|]})\n\n\n'
                    'register_kernel_type("DecodeFwdOp", "acme", FirstKernel)\n'
                    'register_kernel_type("DecodeFwdOp", "acme", SecondKernel)\n'
                ),
            },
            (
                'FirstKernel is preferred over "acme_one", which is no key of DecodeFwdOp',
                'SecondKernel is preferred over "acme_two", which is no key of DecodeFwdOp',
            ),
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the keys each registered implementation is wrongly preferred over."""
        for dispatch in project.dispatches:
            local = project.local_keys.get(dispatch.op.qualified, set())
            for key, entry in dispatch.entries.items():
                node = entry.target
                for stated, evaluated in (node and project.preferred(node)) or ():
                    named = evaluated.value.text
                    fault = "" if named is None else _fault(dispatch, key, named, local)
                    if fault and node is not None and named is not None:
                        yield self._report(dispatch, node, key, stated, named, fault)

    def _report(
        self,
        dispatch: Dispatch,
        node: ClassNode,
        key: str,
        stated: Located,
        named: str,
        fault: str,
    ) -> Report:
        owner = node.lookup("preferred_over").owner
        others = [other for other in dispatch.entries if other != key]
        near = difflib.get_close_matches(named, others, n=1)
        if near and named not in dispatch.entries and fault.endswith(dispatch.op.name):
            fault += f'; did you mean "{near[0]}"?'
        else:
            near = []
        if owner is node or owner is None:
            message = f'{node.name} is preferred over "{named}", {fault}'
            repair = _repair(stated, near[0]) if near and stated.value.kind == "str" else None
            span = stated.value.span
            return self.report(stated.module, span, message, symbol=node.name, repair=repair)
        message = (
            f'{node.name} inherits from {owner.name} that it is preferred over "{named}", {fault}'
        )
        return self.report(node.module, node.facts.name_span, message, symbol=node.name)


def _fault(dispatch: Dispatch, key: str, named: str, local: set[str]) -> str:
    """Return what is wrong with a preference of ``key`` over ``named``, "" when nothing is."""
    if named == key:
        return f"its own key in {dispatch.op.name}"
    if named in dispatch.entries or named in local or not dispatch.complete:
        return ""
    if named in dispatch.op_keys:
        return f"which is a key of {dispatch.op.name} but not of {dispatch.interface.name}"
    return f"which is no key of {dispatch.op.name}"


def _repair(stated: Located, near: str) -> Repair:
    def build(sources: Sources) -> Iterator[Edit]:
        from tileops.lint._edits import requote

        return requote(sources[stated.module.path], stated.value.span, near)

    return Repair(Applicability.UNSAFE, f'write "{near}"', build)
