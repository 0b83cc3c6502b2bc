"""Moves, arithmetic, comparisons and conversions."""

from __future__ import annotations

from .text import UnsupportedInstructionError
from .types import INT, SETCMP


class Arithmetic:
    """Translations of instructions, each named after its opcode; *p* are its parts, *a* its operands."""

    def op_mov(self, p, a):
        t = self.typ(p)
        if a[0].startswith("{"):
            d = self.vec(a[0])
            size = {
                "uint32_t": 4,
                "uint64_t": 8,
                "emu::b128": 16,
                "uint16_t": 2,
                "float": 4,
                "double": 8,
            }[t]
            e = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}[size // len(d)]
            out = f"{t} _m = {self.val(a[1], t)}; {e} _e[{len(d)}]; memcpy(_e, &_m, sizeof(_m));"
            return out + " ".join(self.put(x, f"_e[{i}]") for i, x in enumerate(d))
        if a[1].startswith("{"):
            d = self.vec(a[1])
            size = {
                "uint32_t": 4,
                "uint64_t": 8,
                "emu::b128": 16,
                "uint16_t": 2,
                "float": 4,
                "double": 8,
            }[t]
            e = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}[size // len(d)]
            out = f"{e} _e[{len(d)}] = {{{', '.join(self.val(x, e) for x in d)}}}; {t} _m; memcpy(&_m, _e, sizeof(_m));"
            return out + self.put(a[0], "_m")
        return self.put(a[0], self.val(a[1], t))

    def op_cvta(self, p, a):
        if "shared" in p or "shared::cta" in p or "shared::cluster" in p:
            if "to" in p:
                return self.put(
                    a[0], f"(uint64_t)::emu::to_shared((void*){self.val(a[1], 'uint64_t')})"
                )
            return self.put(a[0], f"(uint64_t)::emu::sh({self.val(a[1], 'uint32_t')})")
        return self.put(a[0], self.val(a[1], "uint64_t"))

    def op_isspacep(self, p, a):
        inv = "" if p[1].startswith("shared") else "!"
        return self.put(a[0], f"(bool)({inv}::emu::is_shared((void*){self.val(a[1], 'uint64_t')}))")

    def _bin(self, p, a, f):
        t = self.typ(p)
        sat = "sat" in p and t == "float"
        e = f.format(t=t, a=self.val(a[1], t), b=self.val(a[2], t))
        if sat:
            e = f"__saturatef({e})"
        return self.put(a[0], f"({t})({e})")

    def op_add(self, p, a):
        return self._bin(p, a, "{a} + {b}")

    def op_sub(self, p, a):
        return self._bin(p, a, "{a} - {b}")

    def op_mul(self, p, a):
        t = self.typ(p)
        if "wide" in p:
            w = {
                "uint32_t": "uint64_t",
                "int32_t": "int64_t",
                "uint16_t": "uint32_t",
                "int16_t": "int32_t",
            }[t]
            return self.put(a[0], f"({w}){self.val(a[1], t)} * ({w}){self.val(a[2], t)}")
        if "hi" in p:
            w = {
                "uint32_t": ("uint64_t", 32),
                "int32_t": ("int64_t", 32),
                "uint64_t": ("unsigned __int128", 64),
                "int64_t": ("__int128", 64),
            }[t]
            return self.put(
                a[0],
                f"({t})((({w[0]}){self.val(a[1], t)} * ({w[0]}){self.val(a[2], t)}) >> {w[1]})",
            )
        return self._bin(p, a, "{a} * {b}")

    def op_div(self, p, a):
        return self._bin(p, a, "{a} / {b}")

    def op_rem(self, p, a):
        return self._bin(p, a, "{a} % {b}")

    def op_mad(self, p, a):
        t = self.typ(p)
        if t in ("float", "double"):
            return self.op_fma(p, a)
        if "wide" in p:
            w = {"uint32_t": "uint64_t", "int32_t": "int64_t"}[t]
            return self.put(
                a[0], f"({w}){self.val(a[1], t)} * ({w}){self.val(a[2], t)} + {self.val(a[3], w)}"
            )
        if "hi" in p:
            w = {"uint32_t": "uint64_t", "int32_t": "int64_t"}[t]
            return self.put(
                a[0],
                f"({t})((({w}){self.val(a[1], t)} * ({w}){self.val(a[2], t)}) >> 32) + {self.val(a[3], t)}",
            )
        return self.put(
            a[0], f"({t})({self.val(a[1], t)} * {self.val(a[2], t)} + {self.val(a[3], t)})"
        )

    def op_fma(self, p, a):
        t = self.typ(p)
        relu = "relu" in p
        e = f"::emu::fma_({self.val(a[1], t)}, {self.val(a[2], t)}, {self.val(a[3], t)})"
        if relu:
            e = f"::emu::relu_({e})"
        if "sat" in p and t == "float":
            e = f"__saturatef({e})"
        return self.put(a[0], e)

    def op_and(self, p, a):
        return self._bin(p, a, "{a} & {b}")

    def op_or(self, p, a):
        return self._bin(p, a, "{a} | {b}")

    def op_xor(self, p, a):
        return self._bin(p, a, "{a} ^ {b}")

    def op_not(self, p, a):
        t = self.typ(p)
        return self.put(a[0], f"({t})({'!' if t == 'bool' else '~'}{self.val(a[1], t)})")

    def op_neg(self, p, a):
        t = self.typ(p)
        return self.put(a[0], f"({t})(-{self.val(a[1], t)})")

    def op_abs(self, p, a):
        t = self.typ(p)
        return self.put(a[0], f"::emu::abs_({self.val(a[1], t)})")

    def op_shl(self, p, a):
        t = self.typ(p)
        n = f"{self.val(a[2], 'uint32_t')}"
        return self.put(a[0], f"({t})({n} >= sizeof({t}) * 8 ? 0 : {self.val(a[1], t)} << {n})")

    def op_shr(self, p, a):
        t = self.typ(p)
        n = f"{self.val(a[2], 'uint32_t')}"
        return self.put(
            a[0],
            f"({t})({self.val(a[1], t)} >> ({n} >= sizeof({t}) * 8 ? sizeof({t}) * 8 - 1 : {n}) >> ({n} >= sizeof({t}) * 8 ? 1 : 0))",
        )

    def op_shf(self, p, a):
        f = "__funnelshift_" + ("l" if "l" in p else "r") + ("c" if "clamp" in p else "")
        u = "uint32_t"
        return self.put(a[0], f"{f}({self.val(a[1], u)}, {self.val(a[2], u)}, {self.val(a[3], u)})")

    def op_min(self, p, a):
        return self._minmax(p, a, "min_")

    def op_max(self, p, a):
        return self._minmax(p, a, "max_")

    def _minmax(self, p, a, f):
        t = self.typ(p)
        nan = "true" if "NaN" in p else "false"
        e = self.val(a[1], t)
        for b in a[2:]:
            e = f"::emu::{f}({e}, {self.val(b, t)}, {nan})"
        if "relu" in p:
            e = f"::emu::relu_({e})"
        return self.put(a[0], e)

    def op_setp(self, p, a):
        t = self.typ(p)
        d = a[0].split("|")
        cmp = p[1]
        x, y = self.val(a[1], t), self.val(a[2], t)
        e = {
            "eq": "{x} == {y}",
            "ne": "!({x} == {y})",
            "lt": "{x} < {y}",
            "le": "{x} <= {y}",
            "gt": "{x} > {y}",
            "ge": "{x} >= {y}",
            "lo": "{x} < {y}",
            "ls": "{x} <= {y}",
            "hi": "{x} > {y}",
            "hs": "{x} >= {y}",
            "equ": "!({x} < {y} || {x} > {y})",
            "neu": "!({x} == {y})",
            "ltu": "!({x} >= {y})",
            "leu": "!({x} > {y})",
            "gtu": "!({x} <= {y})",
            "geu": "!({x} < {y})",
            "num": "({x} == {x} && {y} == {y})",
            "nan": "!({x} == {x} && {y} == {y})",
        }[cmp].format(x=x, y=y)
        if len(a) > 3:
            b = {"and": "&&", "or": "||", "xor": "!="}[p[2]]
            e = f"({e}) {b} {self.val(a[3], 'bool')}"
        code = f"bool _b = {e};" + self.put(d[0], "_b")
        if len(d) > 1:
            code += self.put(d[1], "!_b")
        return code

    def op_set(self, p, a):
        cmp, dt, st = p[1], p[-2], p[-1]
        t = INT[st]
        if st.endswith("x2"):
            return self.put(
                a[0],
                f'::emu::set2_({self.val(a[1], t)}, {self.val(a[2], t)}, "{cmp}", {"true" if dt in ("u32", "b32", "s32") else "false"})',
            )
        x = f"[&]({t} x, {t} y) {{ bool n = !(x == x && y == y); (void)n; return {SETCMP[cmp]}; }}({self.val(a[1], t)}, {self.val(a[2], t)})"
        out = INT[dt]
        one = f"{out}(1.f)" if out not in ("uint32_t", "int32_t") else f"({out})-1"
        zero = f"{out}(0.f)" if out not in ("uint32_t", "int32_t") else f"({out})0"
        return self.put(a[0], f"({x} ? {one} : {zero})")

    def op_selp(self, p, a):
        t = self.typ(p)
        return self.put(
            a[0], f"({self.val(a[3], 'bool')} ? {self.val(a[1], t)} : {self.val(a[2], t)})"
        )

    def _f1(self, p, a, f):
        t = self.typ(p)
        if t not in ("float", "double"):
            return self.put(
                a[0], f"::emu::map_([](float x) {{ return (float)({f}); }}, {self.val(a[1], t)})"
            )
        return self.put(a[0], f"[&]({t} x) {{ return ({t})({f}); }}({self.val(a[1], t)})")

    def op_ex2(self, p, a):
        return self._f1(p, a, "exp2(x)")

    def op_lg2(self, p, a):
        return self._f1(p, a, "log2(x)")

    def op_rcp(self, p, a):
        return self._f1(p, a, "1 / x")

    def op_sqrt(self, p, a):
        return self._f1(p, a, "sqrt(x)")

    def op_rsqrt(self, p, a):
        return self._f1(p, a, "1.0 / sqrt((double)x)")

    def op_sin(self, p, a):
        return self._f1(p, a, "sin(x)")

    def op_cos(self, p, a):
        return self._f1(p, a, "cos(x)")

    def op_tanh(self, p, a):
        return self._f1(p, a, "tanh(x)")

    def op_popc(self, p, a):
        return self.put(a[0], f"(uint32_t)__builtin_popcountll({self.val(a[1], self.typ(p))})")

    def op_clz(self, p, a):
        t = self.typ(p)
        return self.put(
            a[0], f"(uint32_t){'__clzll' if '64' in t else '__clz'}({self.val(a[1], t)})"
        )

    def op_brev(self, p, a):
        t = self.typ(p)
        return self.put(a[0], f"{'__brevll' if '64' in t else '__brev'}({self.val(a[1], t)})")

    def op_bfind(self, p, a):
        return self.put(a[0], f"(uint32_t)(31 - __clz({self.val(a[1], 'uint32_t')}))")

    def op_bfe(self, p, a):
        t = self.typ(p)
        return self.put(
            a[0],
            f"::emu::bfe_<{t}>({self.val(a[1], t)}, {self.val(a[2], 'uint32_t')}, {self.val(a[3], 'uint32_t')})",
        )

    def op_bfi(self, p, a):
        t = self.typ(p)
        return self.put(
            a[0],
            f"::emu::bfi_<{t}>({self.val(a[1], t)}, {self.val(a[2], t)}, {self.val(a[3], 'uint32_t')}, {self.val(a[4], 'uint32_t')})",
        )

    def op_prmt(self, p, a):
        u = "uint32_t"
        if len(p) > 2:
            raise UnsupportedInstructionError(".".join(p))
        return self.put(
            a[0], f"__byte_perm({self.val(a[1], u)}, {self.val(a[2], u)}, {self.val(a[3], u)})"
        )

    def op_lop3(self, p, a):
        u = "uint32_t"
        return self.put(
            a[0],
            f"::emu::lop3_({self.val(a[1], u)}, {self.val(a[2], u)}, {self.val(a[3], u)}, {self.val(a[4], u)})",
        )

    def op_dp4a(self, p, a):
        t = self.typ(p)
        return self.put(
            a[0], f"__dp4a({self.val(a[1], t)}, {self.val(a[2], t)}, {self.val(a[3], t)})"
        )

    def op_copysign(self, p, a):
        t = self.typ(p)
        return self.put(a[0], f"std::copysign({self.val(a[2], t)}, {self.val(a[1], t)})")

    def op_testp(self, p, a):
        t = self.typ(p)
        x = self.val(a[1], t)
        f = {
            "finite": f"std::isfinite({x})",
            "infinite": f"std::isinf({x})",
            "notanumber": f"std::isnan({x})",
            "number": f"!std::isnan({x})",
        }[p[1]]
        return self.put(a[0], f"(bool){f}")

    def op_cvt(self, p, a):
        types = [
            x
            for x in p
            if x in INT
            or x in ("e4m3x2", "e5m2x2", "tf32", "e2m1x2", "ue8m0x2", "e3m2x2", "e2m3x2")
        ]
        d, s = types[0], types[1]
        mode = {"rni": 1, "rzi": 2, "rmi": 3, "rpi": 4}
        rnd = next((mode[x] for x in p if x in mode), 0)
        relu = "relu" in p
        if d in ("f16x2", "bf16x2") and s == "f32":
            t = INT[d]
            e = f"{t}({self.val(a[2], 'float')}, {self.val(a[1], 'float')})"
            return self.put(a[0], f"::emu::relu_({e})" if relu else e)
        if d in ("e4m3x2", "e5m2x2"):
            pre = "::emu::relu_" if relu else ""
            if s == "f32":
                return self.put(
                    a[0],
                    f"(uint16_t)::emu::fp8_pack_({pre}({self.val(a[2], 'float')}), {pre}({self.val(a[1], 'float')}), {'true' if d == 'e4m3x2' else 'false'})",
                )
            return self.put(
                a[0],
                f"(uint16_t)::emu::fp8_pack_({self.val(a[1], INT[s])}, {'true' if d == 'e4m3x2' else 'false'})",
            )
        if s in ("e4m3x2", "e5m2x2") and d == "f16x2":
            return self.put(
                a[0],
                f"::emu::fp8_unpack_({self.val(a[1], 'uint16_t')}, {'true' if s == 'e4m3x2' else 'false'})",
            )
        if d == "tf32":
            return self.put(a[0], f"::emu::tf32_({self.val(a[1], 'float')})")
        if d not in INT or s not in INT:
            raise UnsupportedInstructionError(".".join(p))
        out, given = INT[d], INT[s]
        x = self.val(a[1], given)
        e = f"::emu::cvt_<{out}>({x}, {rnd}, {'true' if 'sat' in p else 'false'})"
        return self.put(a[0], f"::emu::relu_({e})" if relu else e)
