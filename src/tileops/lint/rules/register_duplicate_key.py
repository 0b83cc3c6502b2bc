"""The rule `register-duplicate-key`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._registrations import origin
from tileops.lint._rule import Report, Rule
from tileops.lint.index import Entry, OpTable, Project

_OP = """\
class NormFwdInterface(KernelInterface): ...


class NormKernel(Kernel, NormFwdInterface): ...


class AcmeNorm(Kernel, NormFwdInterface): ...


class NormFwdOp(Op):
    kernel_types = {"norm": NormKernel}
    interfaces = {"norm": NormFwdInterface}


"""
_TAKEN = (
    "NormFwdOp has that key already, for NormKernel, so constructing the op raises; choose another "
    "key"
)


class RegisterDuplicateKey(Rule):
    """A key is registered once for an op, and is no key the op has in the tree.

    Why:
        Registering a key twice raises. A key equal to one of ``kernel_types`` makes constructing
        the op raise ``reuses keys it has``.

    Limits:
        Only registrations at the top of a module count: those under a condition, and in functions
        such as tests, may exclude each other. Two distributions, or two modules of tests, are never
        compared.
    """

    id = "register-duplicate-key"
    severity = Severity.ERROR
    cross_file = True

    VALID = (
        Valid(
            "two keys",
            _OP
            + 'register_kernel_type("NormFwdOp", "acme", AcmeNorm)\n'
            + 'register_kernel_type("NormFwdOp", "acme_wide", AcmeNorm)\n',
        ),
        Valid(
            "one of two branches",
            _OP
            + "if torch:\n"
            + '    register_kernel_type("NormFwdOp", "acme", AcmeNorm)\n'
            + "else:\n"
            + '    register_kernel_type("NormFwdOp", "acme", NormKernel)\n',
        ),
        Valid(
            "tests",
            _OP
            + "def test_taken():\n"
            + '    register_kernel_type("NormFwdOp", "norm", AcmeNorm)\n'
            + "    with pytest.raises(BackendError, match='reuse'):\n        NormFwdOp()\n",
        ),
        Valid(
            "two distributions",
            {
                "src/tileops/ops/norm.py": (
                    "from tileops.backend import Kernel, KernelInterface\n"
                    "from tileops.ops.op import Op\n\n\n" + _OP
                ),
                "examples/a/pyproject.toml": "[project]\nname = 'a'\n",
                "examples/a/a.py": (
                    "from tileops.backend import register_kernel_type\n"
                    "from tileops.ops.norm import AcmeNorm\n\n"
                    'register_kernel_type("NormFwdOp", "acme", AcmeNorm)\n'
                ),
                "examples/b/pyproject.toml": "[project]\nname = 'b'\n",
                "examples/b/b.py": (
                    "from tileops.backend import register_kernel_type\n"
                    "from tileops.ops.norm import AcmeNorm\n\n"
                    'register_kernel_type("NormFwdOp", "acme", AcmeNorm)\n'
                ),
            },
        ),
        Valid(
            "suppressed",
            _OP
            + 'register_kernel_type("NormFwdOp", "norm", AcmeNorm)'
            + "  # tileops: ignore[register-duplicate-key] -- shows the error\n",
        ),
    )
    INVALID = (
        Invalid(
            "a key of the op",
            _OP + 'register_kernel_type("NormFwdOp", [|"norm"|], AcmeNorm)\n',
            f'register_kernel_type("NormFwdOp", "norm"): {_TAKEN}',
        ),
        Invalid(
            "twice in one module",
            _OP
            + 'register_kernel_type("NormFwdOp", "acme", AcmeNorm)\n'
            + 'register_kernel_type("NormFwdOp", key=[|"acme"|], kernel_type=AcmeNorm)\n',
            'register_kernel_type("NormFwdOp", "acme"): tileops.kernels.case registers that key '
            "already, so the second registration raises; choose another key",
        ),
        Invalid(
            "a constant of another module",
            {
                "src/tileops/ops/norm.py": (
                    "from tileops.backend import Kernel, KernelInterface\n"
                    "from tileops.ops.op import Op\n\n\n" + _OP
                ),
                "tileops_acme/keys.py": 'KEY = "norm"\n',
                "tileops_acme/__init__.py": (
                    "from tileops.backend import register_kernel_type\n"
                    "from tileops.ops.norm import AcmeNorm\n"
                    "from tileops_acme.keys import KEY\n\n"
                    'register_kernel_type("NormFwdOp", [|KEY|], AcmeNorm)\n'
                ),
            },
            f'register_kernel_type("NormFwdOp", "norm"): {_TAKEN}',
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the registrations whose key is taken."""
        for table in project.tables:
            if table.registered:
                yield from self._table(project, table)

    def _table(self, project: Project, table: OpTable) -> Iterator[Report]:
        in_tree = table.kernel_types.entries if table.kernel_types else ()
        own = {entry.key: entry for entry in in_tree}
        before: dict[tuple[str, str], Entry] = {}
        for entry in table.registered:
            if entry.key is None or entry.site is None or entry.site.call.span[1]:
                continue
            where = (origin(project, entry.stated_key.module), entry.key)
            taken = ""
            if entry.key in own:
                holder = own[entry.key].target
                whose = f", for {holder.name}" if holder else ""
                taken = (
                    f"{table.op.name} has that key already{whose}, so constructing the op raises"
                )
            elif where in before:
                first = before[where].stated_key.module.name
                taken = f"{first} registers that key already, so the second registration raises"
            before.setdefault(where, entry)
            if taken:
                what = f'register_kernel_type("{table.op.name}", "{entry.key}")'
                stated = entry.stated_key
                message = f"{what}: {taken}; choose another key"
                yield self.report(stated.module, stated.value.span, message, symbol=table.op.name)
