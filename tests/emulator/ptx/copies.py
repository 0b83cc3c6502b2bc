"""cp.async, bulk and tensor copies."""

from __future__ import annotations

from .text import UnsupportedInstructionError, split_ptx
from .types import TMAP_OPS


class Copies:
    """Translations of instructions, each named after its opcode; *p* are its parts, *a* its operands."""

    def op_cp_async(self, p, a):
        u = "uint32_t"
        src = (
            self.val(a[1].strip()[1:-1], "uint64_t")
            if "+" not in a[1]
            else f"(uint64_t){self.addr(a[1], 'global')}"
        )
        n = self.val(a[2], u)
        s = n
        if len(a) > 3 and not (a[3].startswith("%") and self.operands[int(a[3][1:])][2][:1] == "l"):
            # A size, or a predicate that says to ignore the source.
            is_pred = a[3] in self.regs and any(f"bool {self.regs[a[3]]}" in d for d in self.decl)
            s = f"({self.val(a[3], 'bool')} ? 0u : {n})" if is_pred else self.val(a[3], u)
        return f"::emu::cp_async({self.sh(a[0])}, (void*){src}, {n}, {s});"

    def op_cp_async_commit_group(self, p, a):
        return "::emu::cp_async_commit();"

    def op_cp_async_wait_group(self, p, a):
        return f"::emu::cp_async_wait({self.val(a[0], 'uint32_t')});"

    def op_cp_async_wait_all(self, p, a):
        return "::emu::cp_async_wait(0xffffffffu);"

    def op_cp_async_mbarrier(self, p, a):
        return f"::emu::cp_async_mbar({self.sh(a[0])}, {'true' if 'noinc' in p else 'false'});"

    def op_cp_async_bulk(self, p, a):
        u = "uint32_t"
        if p[3] == "commit_group":
            return "::emu::bulk_commit();"
        if p[3] == "wait_group":
            return f"::emu::bulk_wait({self.val(a[0], u)}, {'true' if 'read' in p else 'false'});"
        if p[3] == "prefetch":
            return ";"
        if p[3] == "tensor":
            return self.tensor(p[4:], a, None)
        dst, src = p[3], p[4]
        if dst.startswith("shared") and src == "global":
            mask = (
                f"(int){self.val(a[4], 'uint16_t')}"
                if any(x.startswith("multicast") for x in p)
                else "-1"
            )
            return f"::emu::bulk_g2s({self.sh(a[0])}, {self.addr(a[1], 'global')}, {self.val(a[2], u)}, {self.sh(a[3])}, {mask});"
        if dst == "global":
            return f"::emu::bulk_s2g({self.addr(a[0], 'global')}, {self.sh(a[1])}, {self.val(a[2], u)});"
        return f"::emu::bulk_s2s({self.sh(a[0])}, {self.sh(a[1])}, {self.val(a[2], u)}, {self.sh(a[3])});"

    def tensor(self, p, a, red):
        # [dst], [map, {c}], [bar] ... or [map, {c}], [src]
        rank = int(p[0][0])
        im2col = any(x.startswith("im2col") for x in p)
        dst = p[1]

        def mapped(x):
            inner = split_ptx(x.strip()[1:-1])
            c = [self.val(y, "int") for y in self.vec(inner[1])]
            return self.val(inner[0], "uint64_t"), c

        if dst.startswith("shared"):
            m, c = mapped(a[1])
            multi = any(x.startswith("multicast") for x in p)
            rest = a[3:]
            if im2col:
                rest = rest[1:]
            mask = f"(int){self.val(rest[0], 'uint16_t')}" if multi else "-1"
            return f"int _c[] = {{{', '.join(c)}}}; ::emu::tma_load({rank}, {str(im2col).lower()}, {self.sh(a[0])}, (void*){m}, _c, {self.sh(a[2])}, {mask}, nullptr);"
        m, c = mapped(a[0])
        op = -1 if red is None else TMAP_OPS[red]
        return f"int _c[] = {{{', '.join(c)}}}; ::emu::tma_store({rank}, (void*){m}, {self.sh(a[1])}, _c, {op});"

    def op_cp_reduce_async_bulk(self, p, a):
        op = next(x for x in p if x in TMAP_OPS)
        if "tensor" in p:
            return self.tensor(p[p.index("tensor") + 1 :], a, op)
        t = {
            "u32": 2,
            "s32": 3,
            "u64": 4,
            "s64": 5,
            "f16": 6,
            "f32": 7,
            "f64": 8,
            "bf16": 9,
            "b32": 2,
            "b64": 4,
        }[p[-1]]
        if p[4] != "global":
            raise UnsupportedInstructionError(".".join(p))
        return f"::emu::bulk_red({self.addr(a[0], 'global')}, {self.sh(a[1])}, {self.val(a[2], 'uint32_t')}, {TMAP_OPS[op]}, {t});"
