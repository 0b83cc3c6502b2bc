"""ldmatrix, stmatrix, mma and wgmma."""

from __future__ import annotations

import re

from .text import UnsupportedInstructionError
from .types import MMA


class Matrices:
    """Translations of instructions, each named after its opcode; *p* are its parts, *a* its operands."""

    def op_ldmatrix(self, p, a):
        if "m8n8" not in p or "b16" not in p:
            raise UnsupportedInstructionError(".".join(p))
        n = int(next(x for x in p if re.fullmatch(r"x\d", x))[1:])
        d = self.vec(a[0])
        tr = "true" if "trans" in p else "false"
        return (
            f"uint32_t _d[{n}]; ::emu::ldmatrix({self.shared_any(p, a[1])}, {n}, {tr}, _d);"
            + " ".join(self.put(x, f"_d[{i}]") for i, x in enumerate(d))
        )

    def shared_any(self, p, x):
        if any(y.startswith("shared") for y in p):
            return self.sh(x)
        return f"::emu::to_shared({self.addr(x, 'global')})"

    def op_stmatrix(self, p, a):
        if "m8n8" not in p or "b16" not in p:
            raise UnsupportedInstructionError(".".join(p))
        n = int(next(x for x in p if re.fullmatch(r"x\d", x))[1:])
        d = self.vec(a[1])
        tr = "true" if "trans" in p else "false"
        return f"uint32_t _d[] = {{{', '.join(self.val(x, 'uint32_t') for x in d)}}}; ::emu::stmatrix({self.shared_any(p, a[0])}, {n}, {tr}, _d);"

    def op_movmatrix(self, p, a):
        return self.put(a[0], f"::emu::movmatrix({self.val(a[1], 'uint32_t')})")

    def op_mma(self, p, a):
        if any(x.startswith("sp") for x in p) or "block_scale" in p:
            raise UnsupportedInstructionError(".".join(p))
        shape = next(x for x in p if re.fullmatch(r"m\d+n\d+k\d+", x))
        m, n, k = map(int, re.fullmatch(r"m(\d+)n(\d+)k(\d+)", shape).groups())
        if (
            (m, n) not in ((16, 8), (8, 8))
            or ((m, n, k) == (8, 8, 4) and "f64" not in p)
            or "b1" in p
        ):
            raise UnsupportedInstructionError(".".join(p))
        types = [x for x in p if x in MMA]
        td, ta, tb, tc = (MMA[x] for x in types[-4:])
        ut = "double" if td == 11 else "uint32_t"
        d, left, right, sums = (self.vec(x) for x in a[:4])
        code = f"{ut} _d[{len(d)}], _a[] = {{{', '.join(self.val(x, ut) for x in left)}}}, _b[] = {{{', '.join(self.val(x, ut) for x in right)}}}, _cc[] = {{{', '.join(self.val(x, ut) for x in sums)}}};"
        code += f"::emu::mma({m}, {n}, {k}, {ta}, {tb}, {tc}, {td}, (uint32_t*)_d, (uint32_t*)_a, (uint32_t*)_b, (uint32_t*)_cc);"
        return code + " ".join(self.put(x, f"_d[{i}]") for i, x in enumerate(d))

    def op_wgmma(self, p, a):
        k = p[1]
        if k == "fence":
            return "::emu::wgmma_fence();"
        if k == "commit_group":
            return "::emu::wgmma_commit();"
        if k == "wait_group":
            return f"::emu::wgmma_wait({self.val(a[0], 'int')});"
        if k != "mma_async" or "sp" in p:
            raise UnsupportedInstructionError(".".join(p))
        shape = next(x for x in p if re.fullmatch(r"m\d+n\d+k\d+", x))
        _, n, kk = map(int, re.fullmatch(r"m(\d+)n(\d+)k(\d+)", shape).groups())
        types = [x for x in p if x in MMA]
        td, ta, tb = (MMA[x] for x in types[-3:])
        d = self.vec(a[0])
        u = "uint32_t"
        code = f"uint32_t _d[] = {{{', '.join(self.val(x, u) for x in d)}}};"
        if a[1].startswith("{"):
            left = self.vec(a[1])
            code += f"uint32_t _a[] = {{{', '.join(self.val(x, u) for x in left)}}}; const uint32_t* _ap = _a; uint64_t _da = 0;"
        else:
            code += f"const uint32_t* _ap = nullptr; uint64_t _da = {self.val(a[1], 'uint64_t')};"
        rest = a[3:]
        rs = a[1].startswith("{")
        scale_d = self.val(rest[0], "bool") if rest else "true"
        ints = td == 10
        sa = self.val(rest[1], "int") if len(rest) > 1 and not ints else "1"
        sb = self.val(rest[2], "int") if len(rest) > 2 and not ints else "1"
        t = rest[3:]
        tra = trb = "0"
        if rs and t:
            trb = self.val(t[-1], "int")
        elif t:
            tra = self.val(t[0], "int")
            trb = self.val(t[1], "int")
        code += f"::emu::wgmma({n}, {kk}, {ta}, {tb}, {td}, _d, _ap, _da, {self.val(a[2], 'uint64_t')}, {scale_d}, {sa}, {sb}, {tra}, {trb}, {self.key}ull);"
        return code + " ".join(self.put(x, f"_d[{i}]") for i, x in enumerate(d))
