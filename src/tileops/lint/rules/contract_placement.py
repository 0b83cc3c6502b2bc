"""The rule `contract-placement`."""

from collections.abc import Iterator
from os.path import commonpath
from pathlib import PurePosixPath

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Report, Rule
from tileops.lint.index import ClassNode, Kind, Module, Project

_HEAD = "from tileops.backend import CallSpec, Kernel, KernelInterface\n\n\n"
_CONTRACT = (
    "class GemmCall(CallSpec): ...\n\n\n"
    "class GemmFwdInterface(KernelInterface):\n    request = GemmCall\n"
)
_MARKED = _CONTRACT.replace("GemmCall(C", "[|GemmCall|](C").replace(
    "GemmFwdInterface(", "[|GemmFwdInterface|]("
)
_KERNEL = "class %s(Kernel, GemmFwdInterface): ...\n"
_FOLDER = "src/tileops/kernels/gemm/"
_MANY = (
    "%s is the contract of 2 kernel files, dense.py and wide.py, but stands in %s, where nobody "
    "looks for it; move it to src/tileops/kernels/gemm/call_spec.py"
)


def _kernel_file(name: str, origin: str) -> str:
    return (
        f"from tileops.backend import Kernel\nfrom {origin} import GemmFwdInterface\n\n\n"
        + _KERNEL % name
    )


class ContractPlacement(Rule):
    """The contract of several kernel files stands in ``call_spec.py``, that of one in that file.

    The contract is the call specs and kernel interfaces; a kernel file has a class that implements
    one of them.

    Why:
        A backend author reads one file to know what a family asks for, and kernel files do not
        import each other for it.

    Limits:
        A ``call_spec.py`` is reported only where its folder holds one kernel file in total.
        Kernel files are counted within one package; tests do not count. A folder with a class that
        may or may not be a kernel is not judged, nor one that a class might stand in which an op
        of the package registers and nobody can find.
    """

    id = "contract-placement"
    severity = Severity.WARNING
    cross_file = True

    VALID = (
        Valid(
            "several kernel files",
            {
                f"{_FOLDER}call_spec.py": _HEAD + _CONTRACT,
                f"{_FOLDER}dense.py": _kernel_file("AKernel", "tileops.kernels.gemm.call_spec"),
                f"{_FOLDER}wide.py": _kernel_file("BKernel", "tileops.kernels.gemm.call_spec"),
            },
        ),
        Valid(
            "a single kernel file, in a folder of others",
            {
                f"{_FOLDER}dense.py": _HEAD + _CONTRACT + "\n\n" + _KERNEL % "AKernel",
                f"{_FOLDER}other.py": _HEAD + "class OtherKernel(Kernel): ...\n",
            },
        ),
        Valid(
            "implemented in a test and in a backend as well",
            {
                f"{_FOLDER}dense.py": _HEAD + _CONTRACT + "\n\n" + _KERNEL % "AKernel",
                "tests/test_gemm.py": _kernel_file("BKernel", "tileops.kernels.gemm.dense"),
                "src/acme/gemm.py": _kernel_file("CKernel", "tileops.kernels.gemm.dense"),
            },
        ),
        Valid(
            "an op registers a kernel that cannot be found",
            {
                f"{_FOLDER}call_spec.py": _HEAD + _CONTRACT,
                f"{_FOLDER}dense.py": _kernel_file("AKernel", "tileops.kernels.gemm.call_spec"),
                "src/tileops/ops/gemm.py": (
                    "from tileops.kernels.gemm import WideKernel\n"
                    "from tileops.ops.op import Op\n\n\n"
                    "class GemmFwdOp(Op):\n    kernel_types = {'wide': WideKernel}\n"
                ),
            },
        ),
        Valid("nobody implements it", {f"{_FOLDER}call_spec.py": _HEAD + _CONTRACT}),
        Valid(
            "suppressed",
            {
                f"{_FOLDER}call_spec.py": _HEAD
                + "class GemmFwdInterface(  # tileops: ignore[contract-placement] -- more to come\n"
                "    KernelInterface\n): ...\n",
                f"{_FOLDER}dense.py": _kernel_file("AKernel", "tileops.kernels.gemm.call_spec"),
            },
        ),
    )
    INVALID = (
        Invalid(
            "in one of two kernel files",
            {
                f"{_FOLDER}dense.py": _HEAD + _MARKED + "\n\n" + _KERNEL % "AKernel",
                f"{_FOLDER}wide.py": _kernel_file("BKernel", "tileops.kernels.gemm.dense"),
            },
            (_MANY % ("GemmCall", "dense.py"), _MANY % ("GemmFwdInterface", "dense.py")),
        ),
        Invalid(
            "in a third file",
            {
                f"{_FOLDER}contract.py": _HEAD + _MARKED,
                f"{_FOLDER}dense.py": _kernel_file("AKernel", "tileops.kernels.gemm.contract"),
                f"{_FOLDER}wide.py": _kernel_file("BKernel", "tileops.kernels.gemm.contract"),
            },
            (_MANY % ("GemmCall", "contract.py"), _MANY % ("GemmFwdInterface", "contract.py")),
        ),
        Invalid(
            "a file of its own for one kernel file",
            {
                f"{_FOLDER}call_spec.py": _HEAD + _CONTRACT.replace("GemmCall(C", "[|GemmCall|](C"),
                f"{_FOLDER}dense.py": _kernel_file("AKernel", "tileops.kernels.gemm.call_spec"),
            },
            "dense.py is the only kernel file of this folder, so its contract needs no file of its "
            "own; move GemmCall and GemmFwdInterface to src/tileops/kernels/gemm/dense.py",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report contracts that stand elsewhere than their kernel files ask for."""
        users = _users(project)
        here: dict[Module, list[ClassNode]] = {}
        for node in project.of_kind(Kind.CALL_SPEC, Kind.INTERFACE):
            if not node.module.is_test:
                here.setdefault(node.module, []).append(node)
        for module, contracts in here.items():
            if _name(module) == "call_spec.py":
                yield from self._lonely(project, module, contracts, users)
            else:
                yield from self._misplaced(module, contracts, users)

    def _misplaced(
        self, module: Module, contracts: list[ClassNode], users: dict[ClassNode, set[Module]]
    ) -> Iterator[Report]:
        for node in contracts:
            files = sorted(user.path for user in users.get(node, ()))
            if len(files) < 2:
                continue
            folder = commonpath([PurePosixPath(file).parent for file in files])
            names = [PurePosixPath(file).name for file in files]
            message = (
                f"{node.name} is the contract of {len(files)} kernel files, "
                f"{', '.join(names[:-1])} and {names[-1]}, but stands in {_name(module)}, where "
                f"nobody looks for it; move it to {folder}/call_spec.py"
            )
            yield self.report(module, node.facts.name_span, message, symbol=node.name)

    def _lonely(
        self,
        project: Project,
        module: Module,
        contracts: list[ClassNode],
        users: dict[ClassNode, set[Module]],
    ) -> Iterator[Report]:
        used = {user for node in contracts for user in users.get(node, ())}
        files = _kernel_files(project, str(PurePosixPath(module.path).parent))
        if len(used) != 1 or files != [user.path for user in used]:
            return
        if not _all_registered_known(project, module):
            return
        names = [node.name for node in contracts]
        listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
        message = (
            f"{PurePosixPath(files[0]).name} is the only kernel file of this folder, so its "
            f"contract needs no file of its own; move {listed} to {files[0]}"
        )
        first = contracts[0]
        yield self.report(module, first.facts.name_span, message, symbol=first.name)


def _users(project: Project) -> dict[ClassNode, set[Module]]:
    """Return the kernel files of each interface and call spec, in the package that defines it."""
    found: dict[ClassNode, set[Module]] = {}
    for node in project.of_kind(Kind.IMPLEMENTATION):
        if node.module.is_test:
            continue
        for interface in project.interfaces_of(node):
            for contract in (interface, project.request(interface)):
                if contract is not None and _package(contract.module) == _package(node.module):
                    found.setdefault(contract, set()).add(node.module)
    return found


def _kernel_files(project: Project, folder: str) -> list[str]:
    """Return the kernel files in and below a folder; none when a class there is not certain."""
    kinds: dict[str, set[Kind]] = {}
    for node in project.classes:
        if node.module.path.startswith(f"{folder}/") and not node.module.is_test:
            kinds.setdefault(node.module.path, set()).add(node.kind)
    if any(Kind.UNKNOWN in found for found in kinds.values()):
        return []
    kernels = {Kind.IMPLEMENTATION, Kind.KERNEL}
    return sorted(path for path, found in kinds.items() if found & kernels)


def _all_registered_known(project: Project, module: Module) -> bool:
    """Say whether every class the package's ops register is known: one might stand here."""
    tables = (t for t in project.tables if _package(t.op.module) == _package(module))
    registered = (table.keys() for table in tables)
    return all(entry.target is not None for entries in registered for entry in entries)


def _name(module: Module) -> str:
    return PurePosixPath(module.path).name


def _package(module: Module) -> str:
    return module.name.partition(".")[0]
