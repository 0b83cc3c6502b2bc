"""Loads, stores, atomics and fences."""

from __future__ import annotations

from .text import UnsupportedInstructionError


class Memory:
    """Translations of instructions, each named after its opcode; *p* are its parts, *a* its operands."""

    def space(self, p):
        for x in p:
            if x.startswith("shared"):
                return "shared"
        return "global"

    def op_ld(self, p, a):
        t = self.typ(p)
        d = self.vec(a[0])
        src = self.addr(a[1], self.space(p))
        pre = (
            "::emu::poll_();"
            if ("acquire" in p or "relaxed" in p or "volatile" in p) and "_" not in a[0]
            else ""
        )
        code = f"{pre} {t} _v[{len(d)}]; memcpy(_v, {src}, sizeof(_v));"
        return code + " ".join(self.put(x, f"_v[{i}]") for i, x in enumerate(d))

    op_ldu = op_ld

    def op_st(self, p, a):
        if p[1] == "async":
            return self.st_async(p, a)
        if p[1] == "bulk":
            return f"memset({self.addr(a[0], 'shared')}, 0, {self.val(a[1], 'uint64_t')});"
        t = self.typ(p)
        d = self.vec(a[1])
        return f"{t} _v[{len(d)}] = {{{', '.join(self.val(x, t) for x in d)}}}; memcpy({self.addr(a[0], self.space(p))}, _v, sizeof(_v));"

    def st_async(self, p, a):
        t = self.typ(p)
        d = self.vec(a[1])
        return (
            f"{t} _v[{len(d)}] = {{{', '.join(self.val(x, t) for x in d)}}}; memcpy(::emu::sh({self.sh(a[0])}), _v, sizeof(_v));"
            f"::emu::mbar_complete({self.sh(a[2])}, sizeof(_v));"
        )

    def op_prefetch(self, p, a):
        return ";"

    op_prefetchu = op_applypriority = op_discard = op_prefetch

    def op_fence(self, p, a):
        return (
            "::emu::proxy_fence();"
            if "proxy" in p and any(x.startswith("async") for x in p)
            else "::emu::atomic_order();"
            if p[1] in ("acq_rel", "sc", "acquire", "release") and "cta" not in p
            else ";"
        )

    def op_membar(self, p, a):
        return ";" if "cta" in p else "::emu::atomic_order();"

    def op_trap(self, p, a):
        return '::emu::fail("trap");'

    op_brkpt = op_trap

    def op_exit(self, p, a):
        raise UnsupportedInstructionError("exit")

    def op_nanosleep(self, p, a):
        return '::emu::yield_poll("nanosleep");'

    def op_atom(self, p, a):
        return self._atomic(p, a[0], a[1], a[2:])

    def op_red(self, p, a):
        if p[1] == "async":
            raise UnsupportedInstructionError("red.async")
        return self._atomic(p, None, a[0], a[1:])

    def _atomic(self, p, d, address, args):
        op = next(
            x
            for x in p
            if x in ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")
        )
        t = self.typ(p)
        ptr = self.addr(address, self.space(p))
        vals = self.vec(args[0])
        outs = self.vec(d) if d else ["_"] * len(vals)
        e = {
            "add": "({t})(_o + _x)",
            "min": "::emu::min_(_o, _x, false)",
            "max": "::emu::max_(_o, _x, false)",
            "and": "({t})(_o & _x)",
            "or": "({t})(_o | _x)",
            "xor": "({t})(_o ^ _x)",
            "exch": "_x",
            "cas": "_o == _x ? {c} : _o",
            "inc": "({t})(_o >= _x ? 0 : _o + 1)",
            "dec": "({t})(_o == 0 || _o > _x ? _x : _o - 1)",
        }[op]
        c = self.val(args[1], t) if op == "cas" else ""
        code = f"char* _q = {ptr};"
        for i, (v, o) in enumerate(zip(vals, outs, strict=True)):
            code += (
                f"{{ {t} _x = {self.val(v, t)}; {t} _old = ::emu::atom_<{t}>(_q + {i} * sizeof(_x), "
                f"[&]({t} _o) -> {t} {{ return {e.format(t=t, c=c)}; }}); {self.put(o, '_old')} }}"
            )
        return code
