"""The rule `interface-name`."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import BodyRule, Repair, Report, Sources
from tileops.lint.facts import Note
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    from tileops.lint._body import Body

_NAME = re.compile(r"_?[A-Z][A-Za-z0-9]*(Fwd|Bwd)Interface")
# A direction is a word of its own: "Fwd" in "FwdTrain", not in a longer lower-case word.
_DIRECTION = re.compile(r"(Fwd|Bwd)(?![a-z])")


class InterfaceName(BodyRule):
    """A kernel interface is named ``XFwdInterface`` or ``XBwdInterface``, the variant within ``X``.

    The direction is the last word before ``Interface`` and stands once:
    ``BatchNormTrainFwdInterface``, not ``BatchNormFwdTrainInterface``. A leading underscore marks
    an interface other files do not use. Implementations also inherit the interface, and are named
    otherwise.

    Why:
        Forward and backward interfaces of one operator then sort beside each other, and the
        direction can be read off the name wherever the interface is used.

    Limits:
        Classes made inside functions or by calling ``type`` are not seen. The fix renames the class
        in all files of the project; other projects that import it have to follow. It is offered
        only when the name states one direction.
    """

    id = "interface-name"
    severity = Severity.WARNING
    cross_file = True
    fixes = (Applicability.UNSAFE,)
    methods = frozenset({""})
    kinds = frozenset({Kind.INTERFACE})

    VALID = (
        Valid(
            "variant before the direction",
            "class BatchNormTrainFwdInterface(KernelInterface): ...\n",
        ),
        Valid("acronyms and digits", "class C2CFwdInterface(KernelInterface): ...\n"),
        Valid("backward", "class W4A16RepackBwdInterface(KernelInterface): ...\n"),
        Valid("private", "class _NormFwdInterface(KernelInterface): ...\n"),
        Valid(
            "an implementation puts the variant after",
            "class BatchNormTrainFwdInterface(KernelInterface): ...\n"
            "class BatchNormFwdTrainWholeKernel(Kernel, BatchNormTrainFwdInterface): ...\n",
        ),
        Valid(
            "a base that cannot be resolved",
            "from acme import Mixin\n\nclass Repack(Mixin, KernelInterface): ...\n",
        ),
        Valid(
            "suppressed",
            "class Repack(  # tileops: ignore[interface-name] -- pickled under this name\n"
            "    KernelInterface\n"
            "): ...\n",
        ),
    )
    INVALID = (
        Invalid(
            "variant after the direction",
            "class [|BatchNormFwdTrainInterface|](KernelInterface): ...\n",
            "interface BatchNormFwdTrainInterface is not named {Name}{Fwd|Bwd}Interface: "
            "put the variant before the direction, as in BatchNormTrainFwdInterface",
            fixed="class BatchNormTrainFwdInterface(KernelInterface): ...\n",
        ),
        Invalid(
            "direction twice",
            "class [|BatchNormFwdTrainFwdInterface|](KernelInterface):\n    pass\n",
            "interface BatchNormFwdTrainFwdInterface is not named {Name}{Fwd|Bwd}Interface: "
            "put the variant before the direction, as in BatchNormTrainFwdInterface",
            fixed="class BatchNormTrainFwdInterface(KernelInterface):\n    pass\n",
        ),
        Invalid(
            "no direction",
            "class [|W4A16RepackInterface|](KernelInterface): ...\n",
            "interface W4A16RepackInterface is not named {Name}{Fwd|Bwd}Interface: "
            "state the direction before Interface",
        ),
        Invalid(
            "an aliased import and an indirect subclass",
            {
                "src/tileops/kernels/norm/call_spec.py": (
                    "from tileops.kernels.interface import KernelInterface as Root\n\n\n"
                    "class NormFwdInterface(Root): ...\n\n\n"
                    "class [|NormFwdWideInterface|](NormFwdInterface): ...\n"
                ),
            },
            "interface NormFwdWideInterface is not named {Name}{Fwd|Bwd}Interface: "
            "put the variant before the direction, as in NormWideFwdInterface",
            fixed={
                "src/tileops/kernels/norm/call_spec.py": (
                    "from tileops.kernels.interface import KernelInterface as Root\n\n\n"
                    "class NormFwdInterface(Root): ...\n\n\n"
                    "class NormWideFwdInterface(NormFwdInterface): ...\n"
                ),
            },
        ),
        Invalid(
            "renamed in every file",
            {
                "src/tileops/kernels/norm/__init__.py": (
                    "from .call_spec import FooFwdWideInterface\n\n"
                    '__all__ = ["FooFwdWideInterface"]\n'
                ),
                "src/tileops/kernels/norm/call_spec.py": (
                    "from tileops.backend import KernelInterface\n\n\n"
                    "class [|FooFwdWideInterface|](KernelInterface):  # wide rows\n"
                    '    """FooFwdWideInterface in prose stays."""\n'
                ),
                "src/tileops/kernels/norm/foo.py": (
                    "from tileops.backend import Kernel\n"
                    "from tileops.kernels.norm import FooFwdWideInterface as Wide\n\n\n"
                    "class FooKernel(Kernel, Wide): ...\n"
                ),
                "src/tileops/ops/foo.py": (
                    "import tileops.kernels.norm.call_spec as specs\n"
                    "from tileops.kernels.norm.call_spec import FooFwdWideInterface\n\n"
                    "table = {'wide': FooFwdWideInterface, 'same': specs.FooFwdWideInterface}\n"
                    "other = dict(FooFwdWideInterface=1)\n"
                ),
            },
            "interface FooFwdWideInterface is not named {Name}{Fwd|Bwd}Interface: "
            "put the variant before the direction, as in FooWideFwdInterface",
            fixed={
                "src/tileops/kernels/norm/__init__.py": (
                    "from .call_spec import FooWideFwdInterface\n\n"
                    '__all__ = ["FooWideFwdInterface"]\n'
                ),
                "src/tileops/kernels/norm/call_spec.py": (
                    "from tileops.backend import KernelInterface\n\n\n"
                    "class FooWideFwdInterface(KernelInterface):  # wide rows\n"
                    '    """FooFwdWideInterface in prose stays."""\n'
                ),
                "src/tileops/kernels/norm/foo.py": (
                    "from tileops.backend import Kernel\n"
                    "from tileops.kernels.norm import FooWideFwdInterface as Wide\n\n\n"
                    "class FooKernel(Kernel, Wide): ...\n"
                ),
                "src/tileops/ops/foo.py": (
                    "import tileops.kernels.norm.call_spec as specs\n"
                    "from tileops.kernels.norm.call_spec import FooWideFwdInterface\n\n"
                    "table = {'wide': FooWideFwdInterface, 'same': specs.FooWideFwdInterface}\n"
                    "other = dict(FooFwdWideInterface=1)\n"
                ),
            },
        ),
        Invalid(
            "the new name is taken",
            "class [|NormFwdWideInterface|](KernelInterface): ...\n\nNormWideFwdInterface = None\n",
            "interface NormFwdWideInterface is not named {Name}{Fwd|Bwd}Interface: "
            "put the variant before the direction, as in NormWideFwdInterface",
        ),
    )

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note class names that are not of the form, with the name that would be."""
        name = body.node.name.value
        directions = _DIRECTION.findall(name)
        if _NAME.fullmatch(name) is None or len(directions) != 1:
            yield body.note(self.id, body.owner.name_span, better=_better(name, set(directions)))

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report the name of an interface."""
        better = note.data["better"]
        hint = "state the direction before Interface"
        repair = None
        if better:
            hint = f"put the variant before the direction, as in {better}"
            repair = Repair(
                Applicability.UNSAFE,
                f"rename it {better} in every file",
                lambda sources: _rename(project, sources, owner, better),
            )
        message = f"interface {owner.name} is not named {{Name}}{{Fwd|Bwd}}Interface: {hint}"
        yield self.report(owner.module, note.span, message, symbol=owner.name, repair=repair)


def _better(name: str, directions: set[str]) -> str:
    """Return the name with its one direction last, "" when it states none or both."""
    if len(directions) != 1:
        return ""
    stem = _DIRECTION.sub("", name.removesuffix("Interface").removeprefix("_"))
    words = "".join(word[:1].upper() + word[1:] for word in stem.split("_"))
    better = f"{'_' if name.startswith('_') else ''}{words}{directions.pop()}Interface"
    return better if words else ""


def _rename(project: Project, sources: Sources, owner: ClassNode, new: str) -> Iterable[Edit]:
    from tileops.lint._rename import rename_class

    return rename_class(project, sources, owner, new)
