"""One asm statement, translated to C++."""

from __future__ import annotations

import re
import zlib

from .arithmetic import Arithmetic
from .control import Control
from .copies import Copies
from .matrices import Matrices
from .mbarriers import Mbarriers
from .memory import Memory
from .text import UnsupportedInstructionError, split_ptx
from .types import CONSTRAINT, INT

_counter = [0]


def restart():
    """Number labels from one again: they have to differ within a function only."""
    _counter[0] = 0


class Block(Arithmetic, Memory, Control, Copies, Mbarriers, Matrices):
    """One asm statement: its registers, its labels, and the C++ that it becomes."""

    def __init__(self, template, operands):
        self.key = zlib.crc32(" ".join(template.split()).encode())
        self.operands = operands
        self.template = template
        _counter[0] += 1
        self.id = _counter[0]
        self.regs = {}
        self.decl = []
        self.labels = set()

    def emit(self):
        t = re.sub(r"//[^\n]*", "", self.template)
        t = re.sub(r"/\*.*?\*/", "", t, flags=re.S)
        if not t.strip().strip(";"):
            return "do {} while (0)"
        t = t.replace("%%", "\x01")
        names = {name: i for i, (_, name, _, _) in enumerate(self.operands) if name}
        t = re.sub(r"%\[(\w+)\]", lambda m: f"%{names[m[1]]}", t)
        head, tail = [], []
        for i, (kind, _, con, expr) in enumerate(self.operands):
            c = con.lstrip("=+&")
            if c[:1] not in CONSTRAINT:
                if c.isdigit():
                    raise UnsupportedInstructionError("matching constraint")
                raise UnsupportedInstructionError(f"constraint {con}")
            w = CONSTRAINT[c[0]]
            if kind == "out":
                init = f"::emu::in<{w}>({expr})" if con.startswith("+") else f"{w}()"
                head.append(f"{w} _p{i} = {init};")
                tail.append(f"::emu::out({expr}, _p{i});")
            else:
                head.append(f"{w} _p{i} = ::emu::in<{w}>({expr}); (void)_p{i};")
        code = self.statements(t)
        return "do { " + " ".join(head + self.decl + code + tail) + " } while (0)"

    # -- splitting
    def statements(self, t):
        out, i = [], 0
        buf = ""
        depth = 0
        while i < len(t):
            c = t[i]
            if c in "{":
                if depth == 0 and not buf.strip():
                    i += 1
                    buf = ""
                    continue  # a scope
                depth += 1
                buf += c
            elif c == "}":
                if depth == 0:
                    if buf.strip():
                        out += self.one(buf.strip())
                        buf = ""
                    i += 1
                    continue
                depth -= 1
                buf += c
            elif c == ";" and depth == 0:
                if buf.strip():
                    out += self.one(buf.strip())
                buf = ""
            elif (
                c == ":"
                and depth == 0
                and re.fullmatch(r"\s*[\w$%]+\s*", buf)
                and t[i + 1 : i + 2] != ":"
            ):
                out.append(f"{self.label(buf.strip())}: ;")
                buf = ""
            else:
                buf += c
            i += 1
        if buf.strip():
            out += self.one(buf.strip())
        return out

    def label(self, name):
        return "emu_l_" + re.sub(r"\W", "_", name) + f"_{self.id}" if name else ""

    def one(self, s):
        s = " ".join(s.split())
        if s.startswith(".reg"):
            m = re.match(r"\.reg\s*\.(?:v\d\s*\.)?(\w+)\s*(.*)", s)
            kind = INT.get(m[1])
            if kind is None:
                raise UnsupportedInstructionError("register of type " + m[1])
            for n in map(str.strip, m[2].split(",")):
                r = re.fullmatch(r"([\w$%]+)<(\d+)>", n)
                for one in [f"{r[1]}{j}" for j in range(int(r[2]))] if r else [n]:
                    v = "_r_" + re.sub(r"\W", "_", one)
                    if one not in self.regs:
                        self.decl.append(f"{kind} {v}{{}};")
                    self.regs[one] = v
            return []
        if s.startswith("."):
            return []
        guard = ""
        m = re.match(r"@\s*(!?)\s*([%\w$\x01]+)\s+(.*)", s)
        if m:
            guard = f"if ({m[1]}{self.val(m[2], 'bool')}) "
            s = m[3]
        while re.match(r"[\w.:]+\s+\.[A-Za-z]", s):
            s = re.sub(r"^([\w.:]+)\s+\.", r"\1.", s)
        m = re.match(r"([\w.:]+)\s*(.*)", s)
        if not m:
            raise UnsupportedInstructionError(s)
        op, rest = m[1], m[2]
        parts = op.split(".")
        # "cp.async.bulk.shared::cluster" keeps its colons: they are no separators here.
        args = [a.strip() for a in split_ptx(rest)] if rest.strip() else []
        f = self.find(parts)
        if f is None:
            raise UnsupportedInstructionError(op)
        try:
            code = f(parts, args)
        except (KeyError, IndexError, ValueError) as e:
            raise UnsupportedInstructionError(f"{op}: {type(e).__name__} {e}") from None
        return [f"{guard}{{ {code} }}"]

    def find(self, parts):
        for n in range(min(4, len(parts)), 0, -1):
            f = getattr(self, "op_" + "_".join(re.sub(r"\W", "_", p) for p in parts[:n]), None)
            if f:
                return f
        return None

    # -- operands
    def val(self, a, t):
        a = a.strip()
        if a.startswith("!"):
            return f"(!{self.val(a[1:], t)})"
        if a.startswith("-") and not re.match(r"-[\d.]", a):
            return f"({t})(-{self.val(a[1:], t)})"
        m = re.fullmatch(r"%(\d+)", a)
        if m:
            return (
                f"::emu::rd<{t}>(_p{m[1]})"
                if not self.is_imm(int(m[1]))
                else self.imm(f"_p{m[1]}", t)
            )
        if a in self.regs:
            return f"::emu::rd<{t}>({self.regs[a]})"
        if a.startswith("\x01"):
            return f"({t})({self.special(a[1:])})"
        if a == "WARP_SZ":
            return f"({t})32"
        m = re.fullmatch(r"0[fF]([0-9a-fA-F]{8})", a)
        if m:
            return f"::emu::rd<{t}>((uint32_t)0x{m[1]}u)"
        m = re.fullmatch(r"0[dD]([0-9a-fA-F]{16})", a)
        if m:
            return f"::emu::rd<{t}>((uint64_t)0x{m[1]}ull)"
        m = re.fullmatch(r"(-?)(0[xX][0-9a-fA-F]+|\d+)[uU]?", a)
        if m:
            return self.imm(f"{m[1]}{m[2]}ll", t)
        m = re.fullmatch(r"-?\d+\.\d*(e[-+]?\d+)?", a)
        if m:
            return f"({t}){a}"
        raise UnsupportedInstructionError(f"operand {a}")

    @staticmethod
    def imm(v, t):
        if t.startswith("emu::"):
            return f"::emu::rd<{t}>((uint64_t)({v}))"
        if t in ("float", "double"):
            return f"({t})({v})"
        return f"({t})({v})"

    def is_imm(self, i):
        return self.operands[i][2].lstrip("=+&")[:1] == "n"

    def put(self, a, expr):
        a = a.strip()
        if a == "_":
            return f"(void)({expr});"
        m = re.fullmatch(r"%(\d+)", a)
        n = f"_p{m[1]}" if m else self.regs.get(a)
        if n is None:
            raise UnsupportedInstructionError(f"result {a}")
        return f"::emu::wr({n}, {expr});"

    def vec(self, a):
        a = a.strip()
        if a.startswith("{"):
            return [x.strip() for x in split_ptx(a[1:-1])]
        return [a]

    def addr(self, a, space):
        """A char* expression of "[base+offset]"."""
        a = a.strip()
        if not a.startswith("["):
            raise UnsupportedInstructionError(f"address {a}")
        b = a[1:-1].strip()
        m = re.fullmatch(r"(.+?)\s*\+\s*(-?\w+)", b)
        base, off = (m[1], m[2]) if m else (b, "0")
        off = self.val(off, "int64_t")
        if space == "shared":
            return f"::emu::sh({self.val(base, 'uint32_t')} + (int32_t){off})"
        return f"((char*)({self.val(base, 'uint64_t')} + {off}))"

    def sh(self, a):
        """A shared address (number) of "[base+offset]"."""
        b = a.strip()[1:-1].strip()
        m = re.fullmatch(r"(.+?)\s*\+\s*(-?\w+)", b)
        if m:
            return f"({self.val(m[1], 'uint32_t')} + {self.val(m[2], 'uint32_t')})"
        return self.val(b, "uint32_t")

    def special(self, n):
        s = {
            "laneid": "::emu::cur->lane",
            "warpid": "::emu::cur->linear / 32",
            "smid": "0",
            "nsmid": "1",
            "gridid": "0",
            "tid.x": "::emu::cur->tid.x",
            "tid.y": "::emu::cur->tid.y",
            "tid.z": "::emu::cur->tid.z",
            "ctaid.x": "::emu::cur->bid.x",
            "ctaid.y": "::emu::cur->bid.y",
            "ctaid.z": "::emu::cur->bid.z",
            "ntid.x": "::emu::g_blockDim.x",
            "ntid.y": "::emu::g_blockDim.y",
            "ntid.z": "::emu::g_blockDim.z",
            "nctaid.x": "::emu::g_gridDim.x",
            "nctaid.y": "::emu::g_gridDim.y",
            "nctaid.z": "::emu::g_gridDim.z",
            "cluster_ctarank": "::emu::block_rank()",
            "cluster_nctarank": "::emu::g_clusterDim.x * ::emu::g_clusterDim.y * ::emu::g_clusterDim.z",
            "clock": "0",
            "clock64": "globaltimer()",
            "globaltimer": "globaltimer()",
            "clock_hi": "0",
            "lanemask_lt": "((1u << ::emu::cur->lane) - 1)",
            "lanemask_eq": "(1u << ::emu::cur->lane)",
            "lanemask_le": "(((1u << ::emu::cur->lane) << 1) - 1)",
            "lanemask_gt": "(~(((1u << ::emu::cur->lane) << 1) - 1))",
            "lanemask_ge": "(~((1u << ::emu::cur->lane) - 1))",
            "dynamic_smem_size": "0",
            "total_smem_size": "0",
            "is_explicit_cluster": "1",
        }
        for d in "xyz":
            s[f"cluster_ctaid.{d}"] = f"(::emu::cur->bid.{d} % ::emu::g_clusterDim.{d})"
            s[f"cluster_nctaid.{d}"] = f"::emu::g_clusterDim.{d}"
            s[f"clusterid.{d}"] = f"(::emu::cur->bid.{d} / ::emu::g_clusterDim.{d})"
            s[f"nclusterid.{d}"] = f"(::emu::g_gridDim.{d} / ::emu::g_clusterDim.{d})"
        if n not in s:
            raise UnsupportedInstructionError(f"register %{n}")
        return s[n]

    @staticmethod
    def typ(parts, last=True):
        for p in reversed(parts) if last else parts:
            if p in INT:
                return INT[p]
        raise UnsupportedInstructionError(".".join(parts) + ": no type")
