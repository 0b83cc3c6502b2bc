"""Writes a tree in the shape of a large operator library, for measuring the linter.

At full size it has about 440 files and 150,000 lines: 20 families, each with interfaces, kernel
files whose greater part is TileLang programs, ops and tests.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from tileops.lint._case import CONTRACT

__all__ = ["operator_library", "write_tree"]

_KERNELS, _OPS = 13, 7
_DTYPES = ("float16", "bfloat16", "float32")


def write_tree(root: Path, lines: int, seed: int = 0) -> int:
    """Write a library of about *lines* lines below a folder and return how many it has."""
    count = 0
    for path, text in operator_library(lines, seed).items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        count += text.count("\n")
    return count


def operator_library(lines: int, seed: int = 0, programs: int = 4) -> dict[str, str]:
    """Return the sources of a library of about *lines* lines by path, the same for each seed.

    ``programs`` is how many TileLang programs each kernel file has.
    """
    chance = random.Random(seed)
    files = dict(CONTRACT)
    count = 0
    family = 0
    while count < lines:
        for path, text in _family(f"family{family}", chance, programs):
            files[path] = text
            count += text.count("\n")
            if count >= lines and path.endswith("test_selection.py"):
                break
        family += 1
    return files


def _family(name: str, chance: random.Random, programs: int) -> Iterator[tuple[str, str]]:
    kernels = f"src/tileops/kernels/{name}"
    interfaces = [f"{name.title()}Part{i}FwdInterface" for i in range(_OPS)]
    yield f"{kernels}/call_spec.py", _call_spec(name, interfaces)
    exports: list[str] = []
    for i in range(_KERNELS):
        module, serves = f"kernel{i}", interfaces[i % _OPS]
        text = _kernel(name, i, serves, chance, programs)
        exports.append(f"from tileops.kernels.{name}.{module} import {_class(name, i)}\n")
        yield f"{kernels}/{module}.py", text
    yield f"{kernels}/__init__.py", "".join(exports)
    yield f"src/tileops/ops/{name}/__init__.py", ""
    for i, interface in enumerate(interfaces):
        yield f"src/tileops/ops/{name}/op{i}.py", _op(name, i, interface, chance)
    yield f"tests/ops/{name}/test_selection.py", _tests(name)


def _class(family: str, number: int) -> str:
    return f"{family.title()}Variant{number}Kernel"


def _call_spec(family: str, interfaces: list[str]) -> str:
    call = f"{family.title()}Call"
    parts = [
        f'"""Interfaces of {family}."""\n\nimport dataclasses\nfrom abc import abstractmethod\n\n'
        "import torch\n\nfrom tileops.call_spec import CallSpec\n"
        "from tileops.kernels.interface import KernelInterface\n\n\n"
        f"@dataclasses.dataclass(frozen=True)\nclass {call}(CallSpec):\n"
        '    """The facts of a call."""\n\n'
        "    m: int = 0\n    n: int = 0\n    k: int = 0\n    eps: float = 1e-5\n"
        "    causal: bool = False\n    dtype: torch.dtype = torch.float16\n\n"
        "    @property\n    def narrow(self) -> bool:\n"
        '        """Whether a row fits a warp."""\n'
        "        return self.n <= 1024 and self.n % 8 == 0\n"
    ]
    for interface in interfaces:
        parts.append(f'''

class {interface}(KernelInterface):
    """Reduce the rows of a matrix."""

    request = {call}

    @abstractmethod
    def forward(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Reduce each of ``call.m`` rows; every tensor is contiguous on ``call.device``.

        Nothing is written in place.

        Args:
            x: ``call.m`` by ``call.n`` elements in ``call.dtype``.
            weight: ``call.n`` elements in ``call.dtype``.

        Returns:
            A new output shaped like *x*, in ``call.dtype``.
        """
''')
    return "".join(parts)


def _kernel(family: str, number: int, interface: str, chance: random.Random, programs: int) -> str:
    call = f"{family.title()}Call"
    facts = chance.sample(["m", "n", "k", "eps", "causal"], 3)
    identity = ", ".join(f"call.{fact}" for fact in facts)
    params = ", ".join(facts)
    head = (
        f'"""A kernel of {family}."""\n\nimport functools\n\nimport tilelang\n'
        "import tilelang.language as T\nimport torch\n\n"
        "from tileops.kernels.kernel import Kernel\n"
        f"from tileops.kernels.{family}.call_spec import {call}, {interface}\n\n"
    )
    programs = "".join(_program(f"program_{i}", chance) for i in range(programs))
    general = number < _OPS
    limit = chance.randrange(64, 4096)
    declared = "    general = True\n" if general else "    supported_archs = [80, 89, 90]\n"
    refusal = f'''
    @classmethod
    def refusal(cls, call: {call}) -> str | None:
        """Say why a call is not served."""
        if call.dtype not in (torch.float16, torch.bfloat16):
            return f"serves half precision, got {{call.dtype}}"
        if call.n % 8:
            return f"serves rows of a multiple of 8 elements, got {{call.n}}"
        staged = 2 * call.n * call.dtype.itemsize
        if staged > call.smem_budget:
            return f"stages {{staged}} bytes, {{call.smem_budget}} fit"
        if call.m < {limit} and not call.narrow:
            return f"serves at least {limit} rows, got {{call.m}}"
        return super().refusal(call)
'''
    return (
        head
        + programs
        + f'''
class {_class(family, number)}(Kernel, {interface}):
    """Rows in blocks of {limit}."""

{declared}{"" if general else refusal}
    @classmethod
    def entry_for(cls, call: {call}):
        """Identify the build by what the program is compiled for."""
        identity = ({identity}, call.dtype)
        return identity, lambda: cls(*identity)

    def __init__(self, {params}, dtype) -> None:
        """Compile the program."""
        super().__init__()
        self.{facts[0]} = {facts[0]}
        self.{facts[1]} = {facts[1]}
        self.{facts[2]} = {facts[2]}
        self.dtype = dtype
        self.config = self.default_config()
        self.kernel = program_0(self.{facts[0]}, self.{facts[1]}, str(dtype))

    def default_config(self) -> dict:
        """Return the block sizes."""
        block = min(128, max(16, int(self.{facts[1]})))
        return {{"block_m": block, "block_n": 128, "stages": 2, "threads": 256}}

    def forward(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Run the program on the rows of *x*."""
        y = torch.empty_like(x)
        self.kernel(x, weight, y)
        return y
'''
    )


def _program(name: str, chance: random.Random) -> str:
    """Return a builder of a TileLang program of some eighty lines."""
    lines = [
        "@functools.lru_cache(maxsize=None)",
        f"def {name}(m, n, dtype, block_m=64, block_n=128, stages=2, threads=128):",
        '    """Build the program."""',
        "    accum = 'float32'",
        "    @tilelang.jit(out_idx=[2])",
        "    def build():",
        "        @T.prim_func",
        "        def main(x: T.Tensor((m, n), dtype), w: T.Tensor((n,), dtype),",
        "                 y: T.Tensor((m, n), dtype)):",
        "            with T.Kernel(T.ceildiv(m, block_m), threads=threads) as bx:",
    ]
    for i in range(chance.randrange(10, 20)):
        lines += [
            f"                shared_{i} = T.alloc_shared((block_m, block_n), dtype)",
            f"                local_{i} = T.alloc_fragment((block_m, {8 * (i + 1)}), accum)",
            f"                T.copy(x[bx * block_m, {i} * block_n], shared_{i})",
            f"                for i, j in T.Parallel(block_m, {8 * (i + 1)}):",
            f"                    value = T.cast(shared_{i}[i, j], accum)",
            f"                    if value > {chance.random():.3f} and i < m - bx * block_m:",
            f"                        local_{i}[i, j] = T.exp2(value * 1.44269) + local_{i}[i, j]",
            "                    else:",
            f"                        local_{i}[i, j] = T.max(value, local_{i}[i, j] - {i}.0)",
            f"                T.reduce_sum(local_{i}, shared_{i}, dim=1, clear={i % 2 == 0})",
        ]
    return "\n".join([*lines, "        return main", "    return build()", "", "", ""])


def _op(family: str, number: int, interface: str, chance: random.Random) -> str:
    call = f"{family.title()}Call"
    name = f"{family.title()}Part{number}FwdOp"
    keys = [i for i in range(_KERNELS) if i % _OPS == number]
    classes = ", ".join(_class(family, i) for i in keys)
    mapping = "".join(f'        "{family}_key{i}": {_class(family, i)},\n' for i in keys)
    checks = "".join(
        f"        if x.shape[{i % 2}] % {chance.randrange(2, 9)} and x.dim() > {i + 2}:\n"
        f'            raise ValueError(f"axis {i} is {{x.shape[{i % 2}]}}")\n'
        for i in range(12)
    )
    return f'''"""An op of {family}."""

import torch

from tileops.kernels.{family} import {classes}
from tileops.kernels.{family}.call_spec import {call}, {interface}
from tileops.ops.op import Op


class {name}(Op):
    """Reduce rows."""

    kernel_types = {{
{mapping}    }}
    interfaces = {{"{family}_part{number}": {interface}}}

    def __init__(self, n: int, eps: float = 1e-5) -> None:
        """Reduce rows of *n* elements."""
        super().__init__()
        self.n = n
        self.eps = eps

    def check(self, x: torch.Tensor) -> None:
        """Refuse shapes that do not fit."""
{checks}
    def forward(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Run the selected kernel."""
        self.check(x)
        call = {call}(
            device=x.device, m=x.shape[0], n=self.n, k=0, eps=self.eps, causal=False, dtype=x.dtype
        )
        return self.kernel_for("{family}_part{number}", call)(x.contiguous(), weight.contiguous())
'''


def _tests(family: str) -> str:
    call = f"{family.title()}Call"
    imports = "".join(
        f"from tileops.ops.{family}.op{i} import {family.title()}Part{i}FwdOp\n"
        for i in range(_OPS)
    )
    cases = "".join(
        f'''

@pytest.mark.parametrize("dtype", [torch.{dtype}])
def test_part{number}_{dtype}(dtype):
    """The key of a call at a boundary."""
    op = {family.title()}Part{number}FwdOp(1024)
    call = {call}(arch=90, sm_count=132, smem_budget=1 << 17, m=64, n=1024, k=1, dtype=dtype)
    assert op.key_for("{family}_part{number}", call) == "{family}_key{number}"
'''
        for number in range(_OPS)
        for dtype in _DTYPES
    )
    return (
        f'"""Selection in {family}."""\n\nimport pytest\nimport torch\n\n'
        f"from tileops.kernels.{family}.call_spec import {call}\n{imports}{cases}"
    )
