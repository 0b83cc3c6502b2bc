"""The rule `contiguity-not-enforced`."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._entry_members import interfaces_asked
from tileops.lint._rule import BodyRule, Report
from tileops.lint._tensors import is_tensor
from tileops.lint.facts import ClassFacts, FunctionFacts, Note
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    from tileops.lint._body import Body

_DECLARED = re.compile(r"\bcontiguous", re.IGNORECASE)
_DENIED = re.compile(
    r"\b(not|non|never)\b[\w\s,-]{0,24}\bcontiguous|\bcontiguous or\b|noncontiguous", re.IGNORECASE
)
_HEAD = (
    "class NormFwdInterface(KernelInterface):\n"
    '    """Normalize contiguous rows."""\n\n'
    "    def forward(self, x: torch.Tensor, n: int): ...\n\n"
    "class NormFwdOp(Op):\n    interfaces = {'norm': NormFwdInterface}\n\n"
)
_MESSAGE = (
    "NormFwdOp passes x on as it came, but NormFwdInterface declares its inputs contiguous, so a "
    "strided x is read wrongly; pass x.contiguous()"
)


class ContiguityNotEnforced(BodyRule):
    """An op that runs a kernel itself makes its inputs contiguous where the interface says so.

    Ops that state ``requests`` and ``bind`` need not: the class ``Op`` copies inputs that are not
    contiguous before it runs what ``bind`` returns.

    Why:
        An implementation takes its contract at its word and computes addresses from the shape.

    Limits:
        Seen is a parameter of the method that goes to the kernel as it is, where the interface
        annotates a tensor and its docstrings say contiguous. A method that asks the parameter
        anything about contiguity is trusted.
    """

    id = "contiguity-not-enforced"
    severity = Severity.PEDANTIC
    cross_file = True
    kinds = frozenset({Kind.OP})

    VALID = (
        Valid(
            "made contiguous",
            _HEAD + "    def __call__(self, x, y):\n        y = y.contiguous()\n"
            "        self.kernel_for('norm', y)(y, 4)\n"
            "        return self.kernel_for('norm', x)(x.contiguous(), 4)\n",
        ),
        Valid(
            "checked, and no tensor",
            _HEAD + "    def __call__(self, x, n):\n        assert x.is_contiguous()\n"
            "        return self.kernel_for('norm', x)(x, n)\n",
        ),
        Valid(
            "in what bind returns",
            _HEAD + "    def bind(self, kernels, x):\n        (kernel,) = kernels\n"
            "        return lambda x: kernel(x, 4)\n",
        ),
        Valid(
            "an interface that does not ask for it",
            _HEAD.replace("contiguous rows", "rows, which need not be contiguous")
            + "    def __call__(self, x):\n        return self.kernel_for('norm', x)(x, 4)\n",
        ),
        Valid(
            "suppressed",
            _HEAD + "    def __call__(self, x):\n"
            "        return self.kernel_for('norm', x)(\n"
            "            x, 4  # tileops: ignore[contiguity-not-enforced] -- checked before\n"
            "        )\n",
        ),
    )
    INVALID = (
        Invalid(
            "at once",
            _HEAD + "    def __call__(self, x):\n"
            "        return self.kernel_for('norm', x)([|x|], 4)\n",
            _MESSAGE,
        ),
        Invalid(
            "through a local, by keyword",
            _HEAD + "    def __call__(self, x):\n        kernel = self.kernel_for('norm', x)\n"
            "        return kernel.forward(n=4, x=[|x|])\n",
            _MESSAGE,
        ),
        Invalid(
            "an interface of another file",
            {
                "src/tileops/kernels/norm/call_spec.py": (
                    "import torch\n\nfrom tileops.backend import KernelInterface\n\n\n"
                    "class NormFwdInterface(KernelInterface):\n"
                    "    def forward(self, a: torch.Tensor | None):\n"
                    '        """Every tensor is contiguous."""\n'
                ),
                "src/tileops/ops/norm.py": (
                    "from tileops.kernels.norm.call_spec import NormFwdInterface\n"
                    "from tileops.ops.op import Op\n\n\n"
                    "class NormFwdOp(Op):\n    interfaces = {'norm': NormFwdInterface}\n\n"
                    "    def run(self, x):\n        return self.kernel_for('norm', 1)([|x|])\n"
                ),
            },
            _MESSAGE,
        ),
    )

    def wants(self, owner: ClassFacts, method: FunctionFacts | None) -> bool:
        """Visit methods that ask for kernels; what ``bind`` is given, the op runs."""
        if method is None or method.name == "bind":
            return False
        return any(call.rpartition(".")[2] == "kernel_for" for call in method.calls)

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note the parameters that are handed to a kernel as they came."""
        import libcst as cst

        from tileops.lint._selected import Selected
        from tileops.lint._syntax import own

        assert body.method is not None
        kernels = Selected(body)
        trusted = {r.param for r in body.method.reads if "contiguous" in r.attribute}
        names = {param.name for param in body.method.params[1:]} - trusted - set(kernels.bound)
        direct = set(map(id, own(body.function)))
        for call, use in kernels.calls():
            if id(call) not in direct or any(argument.star for argument in call.args):
                continue
            for position, argument in enumerate(call.args):
                value = argument.value
                if isinstance(value, cst.Name) and value.value in names:
                    taken = argument.keyword.value if argument.keyword else ""
                    yield body.note(
                        self.id,
                        value,
                        name=value.value,
                        position=position,
                        taken=taken,
                        key=use.key,
                        literal=use.literal,
                    )

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report tensors of interfaces that declare their inputs contiguous."""
        interfaces = interfaces_asked(project, owner, note) if note.data["key"] else []
        for interface in interfaces:
            found = interface.lookup("forward")
            if found.method is None or found.owner is None:
                continue
            text = f"{interface.facts.docstring or ''}\n{found.method.docstring or ''}"
            if not _DECLARED.search(text) or _DENIED.search(text):
                continue
            params = found.method.params[1:]
            taken = [
                param
                for position, param in enumerate(params)
                if param.name == note.data["taken"]
                or (not note.data["taken"] and position == note.data["position"])
            ]
            if taken and is_tensor(project, found.owner.module, taken[0].annotation):
                name = note.data["name"]
                message = (
                    f"{owner.name} passes {name} on as it came, but {interface.name} declares its "
                    f"inputs contiguous, so a strided {name} is read wrongly; "
                    f"pass {name}.contiguous()"
                )
                symbol = f"{owner.name}.{note.method}"
                yield self.report(owner.module, note.span, message, symbol=symbol)
