"""Branches, barriers, and what the lanes of a warp do together."""

from __future__ import annotations

from .text import UnsupportedInstructionError


class Control:
    """Translations of instructions, each named after its opcode; *p* are its parts, *a* its operands."""

    def op_bra(self, p, a):
        return f"goto {self.label(a[0])};"

    def op_ret(self, p, a):
        raise UnsupportedInstructionError("ret")

    def op_bar(self, p, a):
        u = "uint32_t"
        if "warp" in p:
            return f'::emu::warp_collective("bar.warp.sync", {self.val(a[0], u)}, nullptr, nullptr, 5);'
        if "red" in p:
            op = {"and": 0, "or": 1, "popc": 2}[next(x for x in p if x in ("and", "or", "popc"))]
            n = self.val(a[2], u) if len(a) > 3 else "0"
            return self.put(
                a[0], f"::emu::bar_red({self.val(a[1], u)}, {n}, {self.val(a[-1], 'bool')}, {op})"
            )
        wait = "false" if "arrive" in p else "true"
        n = self.val(a[1], u) if len(a) > 1 else "0"
        return f'::emu::bar_sync("{".".join(p)} (a: barrier, b: threads)", {self.val(a[0], u)}, {n}, {wait});'

    def op_barrier(self, p, a):
        if "cluster" in p:
            return "::emu::cluster_arrive();" if "arrive" in p else "::emu::cluster_wait();"
        return self.op_bar(p, a)

    def op_griddepcontrol(self, p, a):
        return ";"

    def op_setmaxnreg(self, p, a):
        return ";"

    op_pragma = op_setmaxnreg

    def op_activemask(self, p, a):
        return self.put(a[0], "::emu::activemask()")

    def op_elect(self, p, a):
        d = a[0].split("|")
        u = "uint32_t"
        m = self.val(a[1], u)
        code = f"uint32_t _l = __builtin_ctz({m});"
        if d[0].strip() != "_":
            code += self.put(d[0], "_l")
        return code + self.put(d[1], "(bool)(::emu::cur->lane == _l)")

    def op_shfl(self, p, a):
        kind = {"up": 0, "down": 1, "bfly": 2, "idx": 3}[
            next(x for x in p if x in ("up", "down", "bfly", "idx"))
        ]
        u = "uint32_t"
        d = a[0].split("|")
        mask = self.val(a[4], u) if len(a) > 4 else "0xffffffffu"
        code = f"bool _v; uint32_t _s = (uint32_t)::emu::shfl({mask}, {self.val(a[1], u)}, {kind}, {self.val(a[2], u)}, {self.val(a[3], u)}, &_v);"
        code += self.put(d[0], "_s")
        if len(d) > 1:
            code += self.put(d[1], "_v")
        return code

    def op_vote(self, p, a):
        kind = {"all": 0, "any": 1, "ballot": 2, "uni": 3}[
            next(x for x in p if x in ("all", "any", "ballot", "uni"))
        ]
        e = f"::emu::vote({self.val(a[2], 'uint32_t')}, {self.val(a[1], 'bool')}, {kind})"
        return self.put(a[0], e if kind == 2 else f"(bool){e}")

    def op_match(self, p, a):
        d = a[0].split("|")
        t = self.typ(p)
        code = f"bool _v; uint32_t _s = ::emu::match_any({self.val(a[2], 'uint32_t')}, {self.val(a[1], t)}, {'true' if 'all' in p else 'false'}, &_v);"
        code += self.put(d[0], "_s")
        if len(d) > 1:
            code += self.put(d[1], "_v")
        return code

    def op_redux(self, p, a):
        if "f32" in p:
            raise UnsupportedInstructionError(".".join(p))
        op = next(x for x in p if x in ("add", "min", "max", "and", "or", "xor"))
        s = p[-1] == "s32"
        kind = {"add": 0, "min": 3 if s else 1, "max": 4 if s else 2, "and": 5, "or": 6, "xor": 7}[
            op
        ]
        return self.put(
            a[0],
            f"::emu::redux({self.val(a[2], 'uint32_t')}, {self.val(a[1], 'uint32_t')}, {kind})",
        )

    def op_mapa(self, p, a):
        u = "uint32_t"
        if not any(x.startswith("shared") for x in p):  # generic addresses
            return self.put(
                a[0],
                f"(uint64_t)::emu::sh(::emu::mapa(::emu::to_shared((void*){self.val(a[1], 'uint64_t')}), {self.val(a[2], u)}))",
            )
        return self.put(a[0], f"::emu::mapa({self.val(a[1], u)}, {self.val(a[2], u)})")

    def op_getctarank(self, p, a):
        return self.put(a[0], f"({self.val(a[1], 'uint32_t')} >> 24)")
