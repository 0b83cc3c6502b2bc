"""A dtype and a shape, written like ``bf16[8192, 4096]``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from tileops.manifest._form import FormError, nearest
from tileops.manifest._itemsize import ITEMSIZE, SHORT

_FORM = re.compile(r"\s*(\w+)\s*\[([\d,\s]*)\]\s*")
_DIGITS = 18
_LONG = {long: short for short, long in SHORT.items()}


@dataclass(frozen=True)
class TypedShape:
    """What a workload or the command line says of a tensor.

    Attributes:
        dtype: The dtype by torch's name.
        shape: The sizes, outermost first.
    """

    dtype: str
    shape: tuple[int, ...]

    @classmethod
    def parse(cls, text: object) -> TypedShape:
        """Read ``f16[32, 256]``; the dtype is torch's name or its short form."""
        match = _FORM.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise FormError(f"{text!r} is no tensor; write it like 'bf16[8192, 4096]'")
        dtype = SHORT.get(match[1], match[1])
        if dtype not in ITEMSIZE:
            raise FormError(f"unknown dtype {match[1]!r}{nearest(match[1], [*SHORT, *ITEMSIZE])}")
        sizes = [size.strip() for size in match[2].split(",")] if match[2].strip() else []
        if sizes and not sizes[-1]:
            sizes.pop()
        if not all(size.isdecimal() for size in sizes):
            raise FormError(f"{text!r} is no tensor; write its sizes with commas between them")
        if any(len(size) > _DIGITS for size in sizes):
            raise FormError(f"no tensor has a size of more than {_DIGITS} digits")
        return cls(dtype, tuple(int(size) for size in sizes))

    @property
    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of the elements."""
        return self.numel * ITEMSIZE[self.dtype]

    def __str__(self) -> str:
        return f"{_LONG[self.dtype]}[{', '.join(map(str, self.shape))}]"
