"""The rule `refusal-reads-tensor`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import BodyRule, Report
from tileops.lint.facts import Note, Value
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    import libcst as cst

    from tileops.lint._body import Body

_READS = ("cpu", "data_ptr", "item", "numpy", "tolist")
# Functions of torch that take dtypes, devices, sizes or nothing, or look at no contents.
_HARMLESS = frozenset(
    {
        *("Size", "Generator", "device", "dtype", "finfo", "iinfo", "promote_types", "can_cast"),
        *("result_type", "typename", "is_tensor", "is_storage", "is_floating_point", "is_complex"),
        *("numel", "arange", "empty", "full", "linspace", "ones", "rand", "randn", "randint"),
        *("zeros", "tensor", "as_tensor", "from_numpy", "compile", "get_device_module"),
    }
)
_FAMILIES = ("torch.fft", "torch.linalg", "torch.nn.functional", "torch.special")
_CLASS = "class AKernel(Kernel):\n    @classmethod\n    def refusal(cls, call):\n"
_ENTRY = "class AKernel(Kernel):\n    @classmethod\n    def entry_for(cls, call):\n"


def _message(text: str, method: str = "refusal") -> str:
    return (
        f"AKernel.{method} reads a tensor through {text}, which waits for the device and makes the "
        "choice depend on contents; state what it needs as a fact of the call spec"
    )


class RefusalReadsTensor(BodyRule):
    """``refusal`` and ``entry_for`` read no tensor.

    Flagged are ``.item()``, ``.tolist()``, ``.cpu()``, ``.numpy()`` and ``.data_ptr()``, and
    functions of torch given a fact of the call, unless they take dtypes, devices or sizes.

    Why:
        Selection runs on the host before every launch and its result is remembered by the call
        spec. Reading a tensor stalls the stream, breaks graph capture, and decides by something the
        spec does not hold.

    Limits:
        Methods are known by name only, and helpers are not followed.
    """

    id = "refusal-reads-tensor"
    severity = Severity.ERROR
    methods = frozenset({"refusal", "entry_for"})
    kinds = frozenset({Kind.KERNEL, Kind.IMPLEMENTATION})

    VALID = (
        Valid(
            "sizes, dtypes and devices",
            _CLASS + "        if torch.finfo(call.dtype).bits > 16 or call.dtype.itemsize > 2:\n"
            "            return 'serves 16 bits'\n"
            "        if torch.promote_types(call.dtype, torch.int8) != call.dtype:\n"
            "            return 'serves floats'\n"
            "        return None if torch.device(call.device).type == 'cuda' else 'serves cuda'\n",
        ),
        Valid(
            "a buffer the factory makes",
            _ENTRY + "        return call.n, lambda: cls(torch.zeros(call.n), dict(n=1).items())\n",
        ),
        Valid(
            "at the launch",
            "class AKernel(Kernel):\n    def forward(self, x):\n        return x.item()\n",
        ),
        Valid(
            "an argument, and another library",
            "import acme as torch\n\n"
            + _CLASS
            + "        return torch.all(call.mask) or cls.item(call.n)\n",
        ),
        Valid(
            "suppressed",
            _CLASS
            + "        if call.mask.item():  # tileops: ignore[refusal-reads-tensor] -- host\n"
            "            return 'serves no mask'\n",
        ),
    )
    INVALID = (
        Invalid(
            "methods of a tensor",
            _CLASS + "        if [|call.length.item()|] > 4:\n"
            "            return 'serves lengths of at most 4'\n"
            "        return None if [|call.offsets.cpu()|][0] == 0 else 'serves offsets from 0'\n",
            (_message("call.length.item()"), _message("call.offsets.cpu()")),
        ),
        Invalid(
            "functions of torch",
            "import torch.nn.functional as F\n\n"
            + _CLASS
            + "        return None if [|torch.all(call.mask)|] else str([|F.relu(call.x)|])\n",
            (_message("torch.all(call.mask)"), _message("F.relu(call.x)")),
        ),
        Invalid(
            "in the factory",
            _ENTRY + "        return call.n, lambda: cls([|call.offsets.tolist()|])\n",
            _message("call.offsets.tolist()", "entry_for"),
        ),
        Invalid(
            "an address in the identity",
            _ENTRY + "        return ([|call.x.data_ptr()|], call.n), lambda: cls(call.n)\n",
            _message("call.x.data_ptr()", "entry_for"),
        ),
    )

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note calls that read a tensor, and functions given a fact."""
        import libcst as cst

        from tileops.lint._syntax import dotted, parameter
        from tileops.lint._wording import brief

        prefix = f"{parameter(body.function, 1)}."
        for node in body.of(cst.Call):
            if _reads(node):
                yield body.note(self.id, node, function="", text=brief(node))
                continue
            name = dotted(node.func)
            given = any(dotted(argument.value).startswith(prefix) for argument in node.args)
            first = name.partition(".")[0]
            if given and "." in name and f"{first}." != prefix and first not in ("cls", "self"):
                yield body.note(self.id, node, function=name, text=brief(node))

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report the note unless its function is another library's or takes no tensor."""
        function = note.data["function"]
        if function:
            named = Value("name", note.span, function)
            family, _, name = project.imported(owner.module, named).rpartition(".")
            if family not in (*_FAMILIES, "torch") or name in _HARMLESS or name[:1].isupper():
                return
        message = (
            f"{owner.name}.{note.method} reads a tensor through {note.data['text']}, which waits "
            "for the device and makes the choice depend on contents; state what it needs as a fact "
            "of the call spec"
        )
        symbol = f"{owner.name}.{note.method}"
        yield self.report(owner.module, note.span, message, symbol=symbol)


def _reads(node: "cst.Call") -> bool:
    """Say whether a call reads a tensor's contents or address by the name of its method."""
    import libcst as cst

    match node:
        case cst.Call(func=cst.Attribute(value=value, attr=cst.Name(value=name)), args=[]):
            owned = isinstance(value, cst.Name) and value.value in ("cls", "self")
            return name in _READS and not owned
    return False
