"""Refusals as people write them, over one call spec, and what each of them means.

`MODELLED` pairs each refusal with the calls it serves, stated independently as a plain function of
the facts. `OPAQUE` lists refusals that read more than can be modelled, with what is said of them.
"""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import math
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple

import torch

from tileops.call_spec import CallSpec, Range
from tileops.kernels.kernel import Kernel


class Mode(enum.Enum):
    """How the tile is walked."""

    ROW = "row"
    COLUMN = "column"
    SPLIT = "split"


@dataclass(frozen=True)
class TileCall(CallSpec):
    """A call with a fact of every kind."""

    m: Annotated[int, Range(1, 2**20)] = 0
    n: Annotated[int, Range(1, 2**20)] = 0
    k: Annotated[int, Range(0, 2**20)] = 0
    shift: Annotated[int, Range(-1000, 1000)] = 0
    stages: Annotated[int, Range(1, 4)] = 2
    scale: Annotated[float, Range(0.0, 16.0)] = 1.0
    window: Annotated[int, Range(1, 4096)] | None = None
    cap: Annotated[float, Range(0.0, 100.0)] | None = None
    dtype: torch.dtype = torch.float16
    out_dtype: torch.dtype | None = None
    paged: bool = False
    mode: Mode = Mode.ROW
    layout: Literal["bshd", "bhsd", "thd"] = "bshd"
    groups: tuple[int, ...] = ()

    def impossible(self) -> str | None:
        """No op multiplies in other dtypes."""
        if self.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float8_e4m3fn):
            return f"dtype must be float16, bfloat16, float32 or float8_e4m3fn, got {self.dtype}"
        if self.out_dtype not in (None, torch.float16, torch.float32):
            return f"out_dtype must be float16 or float32, got {self.out_dtype}"
        return None

    @property
    def row_bytes(self) -> int:
        return self.n * self.dtype.itemsize

    @property
    def dense_region(self) -> bool:
        return not self.paged and self.n in {64, 128, 256}

    @functools.cached_property
    def tiles(self) -> int:
        return -(-self.m // 128) * -(-self.n // 128)


Facts = Any
Serves = Callable[[Facts], bool]

MODELLED: dict[str, tuple[type[Kernel], Serves]] = {}
OPAQUE: dict[str, tuple[type[Kernel], str]] = {}


def modelled(serves: Serves) -> Callable[[type[Kernel]], type[Kernel]]:
    """File a kernel under its name, with the calls it serves."""

    def file(kernel: type[Kernel]) -> type[Kernel]:
        MODELLED[kernel.__name__] = (kernel, serves)
        return kernel

    return file


def opaque(fragment: str) -> Callable[[type[Kernel]], type[Kernel]]:
    """File a kernel under its name, with what is said of it."""

    def file(kernel: type[Kernel]) -> type[Kernel]:
        OPAQUE[kernel.__name__] = (kernel, fragment)
        return kernel

    return file


@modelled(lambda c: c.n <= 256 and c.dtype in (torch.float16, torch.bfloat16))
class EarlyReturns(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        if call.n > 256:
            return f"serves rows of at most 256, got {call.n}"
        if call.dtype not in (torch.float16, torch.bfloat16):
            return f"serves 16-bit floats, got {call.dtype}"
        return super().refusal(call)


@modelled(
    lambda c: (
        c.n >= 1024 and c.m == 1 and not c.paged and c.dtype == torch.float16 and c.scale == 0.0
    )
)
class OneConjunction(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        served = (
            call.n >= 1024
            and call.m == 1
            and not call.paged
            and call.dtype == torch.float16
            and call.scale == 0.0
        )
        return None if served else "does not serve this call"


def aligned(value: int, to: int) -> bool:
    return value % to == 0


@modelled(lambda c: c.n % 8 == 0 and c.k % 16 == 0)
class NestedHelpers(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        def both() -> bool:
            return aligned(call.n, 8) and aligned(call.k, 16)

        return None if both() else "needs aligned n and k"


@modelled(lambda c: not c.paged and c.n in (64, 128, 256))
class SpecProperty(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        return None if call.dense_region else "serves the dense region"


@modelled(lambda c: math.ceil(c.m / 128) * math.ceil(c.n / 128) <= 132)
class CachedProperty(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        if call.tiles > 132:
            return f"runs one wave, got {call.tiles} tiles"
        return None if call.tiles <= 132 else "never reached"


@modelled(lambda c: c.n <= 256 and c.dtype in (torch.float16, torch.bfloat16) and c.k > 0)
class CallsSuper(EarlyReturns):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        if call.k == 0:
            return "needs k"
        return super().refusal(call)


class _Limits(Kernel):
    limit = 512

    @classmethod
    def fits(cls, call: TileCall) -> bool:
        return call.row_bytes <= cls.limit

    @classmethod
    def __private(cls, call: TileCall) -> bool:
        return call.n not in {3, 5}

    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        return None if cls.fits(call) and cls.__private(call) else "too wide"


@modelled(lambda c: c.n * c.dtype.itemsize <= 1024 and c.n not in (3, 5))
class OverriddenConstant(_Limits):
    limit = 1024


@modelled(lambda c: c.n * c.dtype.itemsize <= 512 and c.k <= 64 and c.n not in (3, 5))
class ReplacesFacts(_Limits):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        if call.k > 64 or replace(call, n=call.k + 1).n > 65:
            return "too deep"
        assert dataclasses.replace(call, paged=True).paged
        return super().refusal(call.with_facts(m=1))


@dataclass(frozen=True, slots=True)
class Tile:
    rows: int
    columns: int

    @property
    def is_small(self) -> bool:
        return self.rows in {1, 2, 4} and self.columns <= 64


@modelled(lambda c: c.m in (1, 2, 4) and c.n <= 64)
class SlottedTile(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        tile = Tile(call.m, call.n)
        return None if tile.is_small else f"serves small tiles, got {tile.rows}x{tile.columns}"


class Pair(NamedTuple):
    first: int
    second: int


@modelled(lambda c: (c.m, c.n) in {(1, 128), (2, 64)} or c.m + c.n == 7)
class TuplesInSets(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        if (call.m, call.n) in {(1, 128), (2, 64)}:
            return None
        pair = Pair(call.m, call.n)
        return None if sum(pair) == 7 else "serves two shapes"


@modelled(lambda c: c.m % 2 == 1)
class FormattedTexts(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        if call.m % 2 == 0:
            old = "serves odd m, got %d of %s" % (call.m, call.n)  # noqa: UP031
            new = "{} and {n:>8}".format(call.m, n=call.n)  # noqa: UP032
            return ", ".join([old, new, f"{call.m:,} {call.k!r}", str(call.n) + "!"])
        return None


@modelled(lambda c: c.m // 64 >= 2 and c.shift // -7 == 3 and c.shift % -7 == -4)
class FloorsTowardsMinusInfinity(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        if call.m // 64 < 2:
            return "needs two tiles"
        whole, rest = divmod(call.shift, -7)
        return None if (whole, rest) == (3, -4) else "needs the shift"


@modelled(lambda c: c.k != 0 and c.m % c.k == 0 and c.shift != 0 and c.n // c.shift < 0)
class SymbolicDivisors(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        if call.k == 0 or call.m % call.k:
            return "needs k to divide m"
        if call.shift == 0:
            return "needs a shift"
        return None if call.n // call.shift < 0 else "needs a backward shift"


@modelled(lambda c: c.m * c.n * c.dtype.itemsize + 16 * c.k <= 99 * 1024)
class Products(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        need = call.m * call.n * call.dtype.itemsize + 16 * call.k
        return None if need <= 99 * 1024 else f"needs {need} bytes of shared memory, has 99 KiB"


@modelled(lambda c: c.n * 4 <= c.smem_budget and (c.arch >= 90 or c.sm_count > 100))
class DeviceFacts(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        if call.n * 4 > call.smem_budget:
            return f"needs {call.n * 4} bytes, has {call.smem_budget}"
        return None if call.arch >= 90 or call.sm_count > 100 else "needs a large board"


_WAVES = {80: 108, 90: 132}


@modelled(
    lambda c: c.arch in (80, 90) and math.ceil(c.m / c.sm_count) <= {80: 108, 90: 132}[c.arch]
)
class ArchTable(Kernel):
    supported_archs = [80, 90]

    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        waves = (call.m + call.sm_count - 1) // call.sm_count
        return None if waves <= _WAVES[call.arch] else f"runs few waves, got {waves}"


@modelled(
    lambda c: (
        c.m in range(16, 129, 16)
        and c.n not in range(5)
        and c.k in frozenset({0, 64, 4096})
        and c.stages in (2, 3, 4)
    )
)
class SetsAndRanges(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        if call.m not in range(16, 129, 16) or call.n in range(5):
            return "serves multiples of 16"
        if call.k in frozenset({0, 64, 4096}) and call.stages in [2, 3, 4]:
            return None
        return "serves few depths"


_WIDEST = {torch.float16: 256, torch.bfloat16: 256, torch.float32: 128}


@modelled(
    lambda c: c.dtype != torch.float8_e4m3fn and c.n <= (128 if c.dtype == torch.float32 else 256)
)
class DtypeTable(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        widest = _WIDEST.get(call.dtype)
        if widest is None:
            return f"serves {', '.join(map(str, _WIDEST))}, got {call.dtype}"
        return None if call.n <= widest else f"serves n up to {widest}, got {call.n}"


@modelled(
    lambda c: (
        (c.window is None or c.window >= 128)
        and (c.cap or 0.0) == 0.0
        and (c.out_dtype is None or c.out_dtype.itemsize > c.dtype.itemsize)
    )
)
class OptionalFacts(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        if call.window is not None and call.window < 128:
            return f"serves windows of 128 and more, got {call.window}"
        if call.cap:
            return f"serves no cap, got {call.cap}"
        out = call.out_dtype
        return None if out is None or out.itemsize > call.dtype.itemsize else "widens only"


@modelled(lambda c: c.mode is not Mode.SPLIT and c.layout in ("bshd", "thd") and not c.paged)
class EnumsAndLiterals(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        match call.mode:
            case Mode.ROW | Mode.COLUMN:
                pass
            case _:
                return f"serves row and column, got {call.mode.name}"
        if call.layout[-2:] != "hd" or (call.layout[1] == "h" and call.layout != "thd"):
            return f"serves bshd and thd, got {call.layout}"
        return "not paged" if call.paged is True else None


@modelled(lambda c: c.k != 0 and c.m // c.k >= 4 and c.dtype.itemsize == 2)
class TriesAndExcepts(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        try:
            ratio = call.m // call.k
        except ZeroDivisionError:
            return "needs k"
        try:
            {2: None}[call.dtype.itemsize]
        except KeyError:
            return "serves 16-bit values"
        finally:
            done = True
        return None if done and ratio >= 4 else "needs a tall m"


@modelled(lambda c: c.n & (c.n - 1) == 0 and c.m & 7 == 0 and c.k >> 4 << 4 == c.k)
class BitTricks(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        if call.n & (call.n - 1):
            return f"serves powers of two, got {call.n}"
        if call.m & 7 != 0:
            return "serves multiples of 8"
        return None if (call.k >> 4) << 4 == call.k else "serves multiples of 16"


@modelled(
    lambda c: (
        c.n.bit_length() <= 9
        and 1 << (c.m - 1).bit_length() <= 512
        and (c.k | 3) == c.k
        and c.n & -c.n >= 4
    )
)
class MoreBitTricks(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        if call.n.bit_length() > 9 or 1 << (call.m - 1).bit_length() > 512:
            return "too wide"
        return None if (call.k | 3) == call.k and call.n & -call.n >= 4 else "bits"


@modelled(
    lambda c: (
        math.ceil(c.m / 128) * 128 - c.m < 32
        and abs(c.shift) <= 10
        and max(c.m, c.n) <= 4096
        and min(c.m, c.n, 7) >= 2
    )
)
class MathFunctions(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        if math.ceil(call.m / 128) * 128 - call.m >= 32:
            return "pads too much"
        if abs(call.shift) > 10 or math.fabs(call.shift) > 10:
            return "shifts too far"
        return None if max(call.m, call.n) <= 4096 and min(call.m, call.n, 7) >= 2 else "size"


@modelled(lambda c: c.scale > 0.25 and c.scale * 2 <= 9.0 and int(c.scale) != 2 and c.scale < 1e30)
class Floats(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        if call.scale <= 0.25 or call.scale == math.inf or call.scale > 1e30:
            return f"serves scales above 0.25, got {call.scale}"
        return None if call.scale * 2 <= 9.0 and int(call.scale) != 2 else "scale"


@modelled(lambda c: c.m >= 16 and c.n >= 16 and c.k >= 16)
class AllOfAList(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        if not all([call.m >= 16, call.n >= 16, call.k >= 16]):
            return "needs 16"
        return "never" if any(one < 16 for one in (call.m, call.n, call.k)) else None


@modelled(lambda c: c.m > 8 and c.n > 8 and c.k > 8)
class AccumulatedReasons(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        reasons = []
        for name in ("m", "n", "k"):
            if getattr(call, name) <= 8:
                reasons.append(f"needs {name} above 8, got {getattr(call, name)}")
        return "; ".join(reasons) or None


@modelled(lambda c: 16 <= c.m <= 64 and 2 * c.stages * c.n <= 1024 and c.n > (c.stages == 3))
class ChainsAndLoops(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        if not 16 <= call.m <= 64:
            return "m"
        total = 0
        for _ in range(call.stages):
            total += 2 * call.n
        three = sum([call.stages == 3])
        return None if total <= 1024 and call.n > three else "n"


@functools.lru_cache(maxsize=64)
def is_round(value: int) -> bool:
    return value in {100, 1000}


@modelled(lambda c: c.m in (100, 1000) and c.n == 8)
class CachedHelpers(Kernel):
    check = staticmethod(lambda value: value == 8)

    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        good = is_round(call.m) and functools.reduce(lambda a, b: a and b, [cls.check(call.n)])
        return None if good else "not round"


@modelled(lambda c: isinstance(c.window, int) and c.m > c.window)
class TypeTests(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        if type(call.m) is not int or not isinstance(call.window, int):
            return "needs a window"
        return None if isinstance(call, TileCall) and call.m > call.window else "small"


def halvings(value: int, limit: int) -> int:
    return 0 if value <= limit else 1 + halvings(value // 2, limit)


@modelled(lambda c: c.m < 1024)
class RecursiveHelper(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        return None if halvings(call.m, 255) <= 2 else "halves too often"


@modelled(lambda c: c.m >= 4 and c.k < 9)
class CopiesCalls(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        other = copy.copy(copy.deepcopy(call))
        tile = dataclasses.asdict(Tile(other.m, other.k))
        return None if tile["rows"] >= 4 and tile["columns"] < 9 else "no"


@modelled(lambda c: (c.m >= 4) ^ c.paged and (c.n > 3) & (c.k > 3) and (c.m > 2) == (c.n > 9))
class LogicOnTruthValues(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        one = (call.m >= 4) ^ call.paged
        both = (call.n > 3) & (call.k > 3)
        return None if one and both and (call.m > 2) == (call.n > 9) else "no"


@opaque("math.log2")
class Logarithm(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        return None if math.log2(call.n).is_integer() else f"serves powers of two, got {call.n}"


@opaque("reads groups")
class UndeclaredTuple(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        return None if len(call.groups) <= 4 else "serves 4 groups"


@opaque("os.environ")
class ReadsEnvironment(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        return None if os.environ.get("FAST", "1") == "1" else "switched off"


@opaque("os.getenv")
class CallsGetenv(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        return "switched off" if os.getenv("SLOW") else None


@opaque("random")
class Impure(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        return None if random.random() < 0.5 else "unlucky"


class Counting(Kernel):
    asked: list[int] = []

    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        cls.asked.append(1)
        return None if len(cls.asked) % 2 else "every other call"


OPAQUE["Counting"] = (Counting, "when it runs again")


@opaque("does not answer the same way")
class CountingBranches(Kernel):
    asked: list[int] = []

    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        cls.asked.append(1)
        return None if call.n > len(cls.asked) else "every other call"


@opaque("inspects a text")
class InspectsText(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        return None if f"{call.n}".endswith("0") else "serves round numbers"


@opaque("reads a number from a text")
class RoundTripsText(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        return None if int(str(call.n)) > 4 else "small"


@opaque("one object")
class ComparesIdentity(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        return None if call.n is 4 else "serves 4"  # noqa: F632


@opaque("more than its facts")
class ReadsDevice(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        return None if call.device is None else "serves stated facts"


@opaque("decisions")
class LongLoop(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        n, steps = call.n, 0
        while n > 0:
            n -= 1
            steps += 1
        return None if steps % 2 else "odd"


@opaque("paths")
class ManyPaths(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        bad = [i for i in range(14) if (call.n // 2**i) % 2]
        return None if len(bad) > 3 else "few bits"


@opaque("math.isqrt")
class SwallowsEverything(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        try:
            return None if math.isqrt(call.n) > 4 else "small"
        except:  # noqa: E722
            return "swallowed"


@opaque("hashes a symbolic number")
class TableOfSizes(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        return {64: None, 128: None}.get(call.n, "serves 64 and 128")


@opaque("bits of two symbolic numbers")
class BitsOfTwo(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        return None if call.m & call.n else "no common bit"


@opaque("is refused for")
class ThreeArgumentPower(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        return "even" if pow(call.n, 1, 2) in (0, 1) else None


@opaque("is refused for")
class ReadsInstanceDictionary(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        return "small" if call.__dict__["n"] > 0 else None


@opaque("declares")
class WritesGlobal(Kernel):
    @classmethod
    def refusal(cls, call: TileCall) -> str | None:
        global _LAST
        _LAST = call.n
        return None


_LAST: Any = None
