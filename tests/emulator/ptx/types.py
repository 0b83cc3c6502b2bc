"""C++ types and codes of PTX types."""

from __future__ import annotations

INT = {
    "b8": "uint8_t",
    "u8": "uint8_t",
    "s8": "int8_t",
    "b16": "uint16_t",
    "u16": "uint16_t",
    "s16": "int16_t",
    "b32": "uint32_t",
    "u32": "uint32_t",
    "s32": "int32_t",
    "b64": "uint64_t",
    "u64": "uint64_t",
    "s64": "int64_t",
    "f32": "float",
    "f64": "double",
    "pred": "bool",
    "b128": "emu::b128",
    "f16": "emu::F16",
    "bf16": "emu::BF16",
    "f16x2": "emu::F16x2",
    "bf16x2": "emu::BF16x2",
    "f32x2": "emu::F32x2",
}
MMA = {
    "f16": 0,
    "bf16": 1,
    "tf32": 2,
    "e4m3": 3,
    "e5m2": 4,
    "s8": 5,
    "u8": 6,
    "s4": 7,
    "u4": 8,
    "f32": 9,
    "s32": 10,
    "f64": 11,
}
CONSTRAINT = {
    "r": "uint32_t",
    "l": "uint64_t",
    "h": "uint16_t",
    "f": "float",
    "d": "double",
    "n": "int64_t",
    "q": "emu::b128",
}
TMAP_OPS = {"add": 0, "min": 1, "max": 2, "inc": 3, "dec": 4, "and": 5, "or": 6, "xor": 7}


SETCMP = {
    "eq": "x == y",
    "ne": "!n && !(x == y)",
    "lt": "x < y",
    "le": "x <= y",
    "gt": "x > y",
    "ge": "x >= y",
    "num": "!n",
    "nan": "n",
}
SETCMP.update({k + "u": f"n || ({v})" for k, v in list(SETCMP.items())[:6]})
