"""The rule `build-at-import`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Report, Rule
from tileops.lint.facts import Site, Value
from tileops.lint.index import FunctionNode, Kind, Module, Project

_JIT = frozenset({"tilelang.jit"})
_COMPILE = frozenset({"tilelang.compile", "tilelang.lower", "tilelang.par_compile"})
_KERNEL = "class GemmKernel(Kernel): ...\n\n"
_MESSAGE = (
    "importing this module %s, so every process that loads the backend pays for it; "
    "build in the factory of entry_for"
)
_CALLED = _MESSAGE % "compiles a program with build"
_JITTED = _MESSAGE % "compiles a program with tilelang.jit"
_COMPILED = _MESSAGE % "compiles a program with tilelang.compile"
_BUILT = _MESSAGE % "builds GemmKernel"


class BuildAtImport(Rule):
    """Importing a module compiles no program and constructs no kernel.

    ``@tilelang.jit`` as a decorator is fine: it compiles when the function is called.

    Why:
        Backends are imported when the first op is constructed, on machines without a GPU and in
        tools as well. What they compile then, most processes never launch, and a failure takes
        the whole backend with it.

    Limits:
        Judged are packages with kernels, kernel interfaces or a ``tileops.backends`` entry point,
        without their tests and without ``if __name__ == "__main__":``. A call of a function that
        is decorated is seen where its result is bound to a name.
    """

    id = "build-at-import"
    severity = Severity.WARNING
    cross_file = True

    VALID = (
        Valid(
            "decorated, and built in functions",
            "import tilelang\n\n" + _KERNEL + "@tilelang.jit(out_idx=[-1])\ndef build(n): ...\n\n"
            "lazy = tilelang.jit(build)\nmore = tilelang.jit(out_idx=[1])(build)\n\n"
            "def kernel(n):\n    return GemmKernel(build(n), tilelang.compile(n))\n",
        ),
        Valid(
            "run as a script, and other compilers",
            "import re\nimport tilelang\n\n" + _KERNEL + "NAME = re.compile('gemm')\n\n"
            "if __name__ == '__main__':\n    tilelang.compile(GemmKernel(4))\n",
        ),
        Valid(
            "a script and a test",
            {
                "src/acme/__init__.py": (
                    "from tileops.backend import Kernel\n\n\nclass AcmeKernel(Kernel): ...\n"
                ),
                "bench.py": "import tilelang\nfrom acme import AcmeKernel\n\n"
                "KERNEL = AcmeKernel(tilelang.compile(4))\n",
                "tests/test_acme.py": "from acme import AcmeKernel\n\nKERNEL = AcmeKernel(4)\n",
            },
        ),
        Valid(
            "suppressed",
            _KERNEL + "SMALL = GemmKernel(4)  # tileops: ignore[build-at-import] -- a stand-in\n",
        ),
    )
    INVALID = (
        Invalid(
            "a kernel",
            _KERNEL + "SMALL = [|GemmKernel(4)|]\n\n"
            "class Sizes:\n    wide = {64: [|GemmKernel(64)|]}\n",
            (_BUILT, _BUILT),
        ),
        Invalid(
            "compiled",
            "import tilelang as tl\nfrom tilelang import compile\n\n"
            + _KERNEL
            + "def program(n): ...\n\n[|tl.compile(program(4))|]\nfor n in (1, 2):\n"
            "    [|compile(program(n))|]\n",
            (_COMPILED, _COMPILED),
        ),
        Invalid(
            "jitted and called",
            "import tilelang\n\n" + _KERNEL + "@tilelang.jit\ndef build(n): ...\n\n"
            "FOUR = [|build(4)|]\nEIGHT = [|tilelang.jit(build)|](8)\n"
            "SIX = [|tilelang.jit(out_idx=[1])(build)(6)|]\n",
            (_CALLED, _JITTED, _JITTED),
        ),
        Invalid(
            "in a module of a package that an entry point names",
            {
                "pyproject.toml": (
                    '[project.entry-points."tileops.backends"]\nacme = "acme.backend"\n'
                ),
                "src/acme/__init__.py": "",
                "src/acme/backend.py": "from acme import programs\n",
                "src/acme/programs.py": (
                    "import tilelang\n\n\ndef program(): ...\n\n\n"
                    "PROGRAM = [|tilelang.compile(program)|]\n"
                ),
            },
            _COMPILED,
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report module-level calls that build."""
        packages = _packages(project)
        for module in project.own_modules:
            if module.is_test or _package(module) not in packages:
                continue
            for site in module.facts.sites:
                what = "" if site.function else _built(project, module, site)
                if what:
                    yield self.report(module, site.call.span, _MESSAGE % what)
            for value in module.facts.constants.values():
                what = _jitted(project, module, value.items[0]) if value.kind == "call" else ""
                if what:
                    message = _MESSAGE % f"compiles a program with {what}"
                    yield self.report(module, value.span, message)


def _packages(project: Project) -> set[str]:
    """Return the top-level packages that are part of the library or of a backend."""
    kinds = (Kind.IMPLEMENTATION, Kind.INTERFACE, Kind.KERNEL)
    found = {_package(n.module) for n in project.of_kind(*kinds) if not n.module.is_test}
    for facts in project.files.values():
        found |= {point.module.partition(".")[0] for point in facts.entry_points}
    return found


def _package(module: Module) -> str:
    return module.name.partition(".")[0]


def _built(project: Project, module: Module, site: Site) -> str:
    """Say what a module-level call builds, or ""."""
    callee = site.call.items[0]
    name = project.imported(module, callee)
    if name in _COMPILE or (name in _JIT and site.call.arguments and site.target == "()"):
        return f"compiles a program with {name}"
    node = project.resolve_class(module, callee)
    if node is not None and node.kind in (Kind.IMPLEMENTATION, Kind.KERNEL):
        return f"builds {node.name}"
    return ""


def _jitted(project: Project, module: Module, callee: Value) -> str:
    """Return the name of what compiles when it is called, or ""."""
    if callee.kind == "call":
        # ``jit(out_idx=[1])(build)`` is the decorated function.
        maker = callee.items[0]
        made = maker.kind == "call" and not maker.arguments
        name = project.imported(module, maker.items[0]) if made else ""
        return name if name in _JIT else ""
    target = project.resolve(module, callee)
    if not isinstance(target, FunctionNode):
        return ""
    stated = (d.items[0] if d.kind == "call" else d for d in target.facts.decorators)
    names = (project.imported(target.module, decorator) for decorator in stated)
    return callee.name if any(name in _JIT for name in names) else ""
