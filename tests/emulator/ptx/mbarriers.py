"""Operations on mbarrier objects."""

from __future__ import annotations

from .text import UnsupportedInstructionError


class Mbarriers:
    """Translations of instructions, each named after its opcode; *p* are its parts, *a* its operands."""

    def op_mbarrier(self, p, a):
        u = "uint32_t"
        k = p[1]
        shared = any(x.startswith("shared") for x in p)

        def bar(x):
            if shared:
                return self.sh(x)
            return f"::emu::to_shared({self.addr(x, 'global')})"

        if k == "init":
            return f"::emu::mbar_init({bar(a[0])}, {self.val(a[1], u)});"
        if k == "inval":
            return f"::emu::mbar_inval({bar(a[0])});"
        if k in ("arrive", "arrive_drop"):
            i = 0 if a[0].strip().startswith("[") else 1
            d = "_" if i == 0 else a[0]
            code = ""
            n = "1"
            if "expect_tx" in p:
                code = f"::emu::mbar_expect({bar(a[i])}, {self.val(a[i + 1], u)});"
            elif len(a) > i + 1:
                n = self.val(a[i + 1], u)
            f = "mbar_arrive" if k == "arrive" else "mbar_arrive_drop"
            return (
                code
                + f"uint64_t _s = ::emu::{f}({bar(a[i])}, {n}); (void)_s;"
                + ("" if d == "_" or d.startswith("_") else self.put_in(d, "_s"))
            )
        if k == "expect_tx":
            return f"::emu::mbar_expect({bar(a[0])}, {self.val(a[1], u)});"
        if k == "complete_tx":
            return f"::emu::mbar_complete({bar(a[0])}, {self.val(a[1], u)});"
        if k in ("try_wait", "test_wait"):
            d = a[0].split("|")[0]
            block = "true" if k == "try_wait" else "false"
            if "parity" in p:
                e = f"::emu::mbar_try({bar(a[1])}, {self.val(a[2], u)}, {block})"
            else:
                e = f"::emu::mbar_try_state({bar(a[1])}, {self.val(a[2], 'uint64_t')}, {block})"
            return self.put(d, e)
        if k == "pending_count":
            return self.put(a[0], f"::emu::mbar_pending({self.val(a[1], 'uint64_t')})")
        raise UnsupportedInstructionError(".".join(p))

    def put_in(self, a, e):
        # Operands declared as inputs may be written by sloppy asm.
        return self.put(a, e)
