"""Random signatures and random calls: the generated checks agree with a checker written here.

The checker works on this file's own description of a signature, tries out every way of matching a
shape, and evaluates conditions as Python functions; it shares nothing with the library but the
YAML text that the signature is printed as.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tileops import manifest
from tileops.ops._signature import CallChecks, SignatureError
from tileops.tensor_spec import TensorSpec

DTYPES = {"T": ["float16", "float32"], "U": ["int32", "float16"]}
OTHER_DTYPES = ["float16", "float32", "int32", "bfloat16"]
CUDA, CUDA1, CPU, META = (torch.device(d) for d in ("cuda:0", "cuda:1", "cpu", "meta"))
DIMS, SPLICES = ["M", "N", "K"], ["B", "S"]

Env = dict[str, Any]

COMPUTED: dict[str, tuple[str, Callable[[Env], int]]] = {
    "M // 2": ("M", lambda e: e["M"] // 2),
    "N * 2": ("N", lambda e: e["N"] * 2),
    "K - 2": ("K", lambda e: e["K"] - 2),
    "M + g": ("M", lambda e: e["M"] + e["g"]),
    "prod(B)": ("B", lambda e: _product(e["B"])),
    "len(S) + 1": ("S", lambda e: len(e["S"]) + 1),
}
CONDITIONS: dict[str, Callable[[Env], bool]] = {
    "true": lambda e: True,
    "false": lambda e: False,
    "flag": lambda e: e["flag"],
    "not flag": lambda e: not e["flag"],
    "g > 1": lambda e: e["g"] > 1,
}
REFINEMENTS: dict[str, tuple[str, Callable[[Env], bool]]] = {
    "M % 2 == 0": ("M", lambda e: e["M"] % 2 == 0),
    "M % g == 0": ("M", lambda e: e["M"] % e["g"] == 0),
    "M != N": ("MN", lambda e: e["M"] != e["N"]),
    "K > g or given(i0)": ("K", lambda e: True),
    "len(B) <= 1 and prod(B) < 9": ("B", lambda e: len(e["B"]) <= 1 and _product(e["B"]) < 9),
    "T == float16 or not given(i1)": ("T", lambda e: e["T"] == "float16" or "i1" not in e["given"]),
    "flag if given(i2) else g < 3": ("", lambda e: e["flag"] if "i2" in e["given"] else e["g"] < 3),
}


def _product(sizes: tuple[int, ...]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


@dataclass(frozen=True)
class Tensor:
    """An input or an output; two variants of its shape when a parameter chooses."""

    name: str
    shapes: tuple[tuple[str, ...], ...]
    dtype: str
    optional: str = "false"
    when: str = "true"
    written: str = "false"
    contiguous: bool = False
    host: bool = False

    @property
    def certain(self) -> bool:
        return self.optional == "false" and self.when == "true"

    def axes(self, env: Env) -> tuple[str, ...]:
        return self.shapes[0] if len(self.shapes) == 1 or env["flag"] else self.shapes[1]

    def yaml(self) -> str:
        texts = [f"[{', '.join(axes)}]" for axes in self.shapes]
        return f'{{dtype: {self.dtype}, shape: "{" if flag else ".join(texts)}"'


@dataclass(frozen=True)
class Signature:
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    group: tuple[str, ...]
    refinements: tuple[str, ...]
    buffer_contiguous: bool

    def yaml(self) -> str:
        lines = [
            "RandomFwdOp:",
            "  reference: nothing",
            "  signature:",
            "    params:",
            "      flag: {type: bool}",
            "      g: {type: int}",
            '      sizes: {type: "tuple[int, ...]"}',
            "    dtypes:",
            *(f"      {name}: [{', '.join(allowed)}]" for name, allowed in DTYPES.items()),
            "    inputs:",
        ]
        for one in self.inputs:
            lines.append(
                f"      {one.name}: {one.yaml()}, optional: {one.optional}, when: {one.when}, "
                f"written: {one.written}, contiguous: {str(one.contiguous).lower()}, "
                f"device: {'cpu' if one.host else 'call'}}}"
            )
        lines.append("    outputs:")
        lines += [f"      {one.name}: {one.yaml()}, when: {one.when}}}" for one in self.outputs]
        if self.group:
            lines.append(f"    together: [[{', '.join(self.group)}]]")
        if self.refinements:
            lines.append("    refinements:")
            lines += [f"      - {text}" for text in self.refinements]
        contiguous = str(self.buffer_contiguous).lower()
        lines.append(f"    buffers: {{out: {{output: o0, contiguous: {contiguous}}}}}")
        lines += ["  workloads: {}", "  roofline: {flops: 0, bytes: 0}"]
        return "\n".join(lines) + "\n"


@dataclass
class Call:
    params: Env
    inputs: list[Any]
    buffer: Any = None


@dataclass
class Expected:
    """The first stage that fails and the tensor it fails for, or the outputs inferred."""

    stage: str | None = None
    tensor: str | None = None
    outputs: dict[str, tuple[tuple[int, ...], str]] = field(default_factory=dict)


# The independent checker.


def judge(signature: Signature, call: Call) -> Expected:
    """Walk the stages in their order and stop at the first failure."""
    env: Env = dict(call.params)
    passed = dict(zip((one.name for one in signature.inputs), call.inputs, strict=True))
    present = [one for one in signature.inputs if passed[one.name] is not None]
    env["given"] = {one.name for one in present}
    tensors = [(one.name, passed[one.name], one.host, one.contiguous) for one in present]
    if call.buffer is not None:
        tensors.append(("out", call.buffer, False, signature.buffer_contiguous))
    for stage in (_presence, _device, _contiguity, _dtypes, _shapes, _refinements):
        failed = stage(signature, env, passed, tensors)
        if failed is not None:
            return Expected(stage.__name__.lstrip("_"), failed)
    return _outputs(signature, env, call)


def _presence(signature: Signature, env: Env, passed: Env, tensors: Any) -> str | None:
    for one in signature.inputs:
        value, expected = passed[one.name], CONDITIONS[one.when](env)
        if value is None and expected and not CONDITIONS[one.optional](env):
            return one.name
        if value is not None and (not expected or not isinstance(value, TensorSpec)):
            return one.name
    absent = [name for name in signature.group if passed[name] is None]
    if 0 < len(absent) < len(signature.group):
        return absent[0]
    for name, value, _, _ in tensors:
        if name == "out" and not CONDITIONS[signature.outputs[0].when](env):
            return name
        if not isinstance(value, TensorSpec):
            return name
    return None


def _device(signature: Signature, env: Env, passed: Env, tensors: Any) -> str | None:
    home = passed["i0"].device
    for name, value, host, _ in tensors:
        if value.device == META or (value.device != CPU if host else value.device != home):
            return str(name)
    return None


def _contiguity(signature: Signature, env: Env, passed: Env, tensors: Any) -> str | None:
    for name, value, _, contiguous in tensors:
        # Every stride that these calls state leaves gaps between the elements.
        if contiguous and value.stride is not None:
            return str(name)
    return None


def _dtypes(signature: Signature, env: Env, passed: Env, tensors: Any) -> str | None:
    for one in signature.inputs:
        if passed[one.name] is None:
            continue
        found = str(passed[one.name].dtype)[len("torch.") :]
        rule = one.dtype
        if " if flag else " in rule:
            rule = rule.split(" if flag else ")[0 if env["flag"] else 1]
        allowed = [env[rule]] if rule in env else DTYPES.get(rule, rule.split(" | "))
        if found not in allowed:
            return one.name
        if rule in DTYPES:
            env[rule] = found
    out = next((value for name, value, _, _ in tensors if name == "out"), None)
    wanted = env.get(signature.outputs[0].dtype, signature.outputs[0].dtype)
    return "out" if out is not None and str(out.dtype) != f"torch.{wanted}" else None


def _matches(axes: tuple[str, ...], shape: tuple[int, ...], env: Env) -> Iterator[Env]:
    """Every way in which the axes can stand for the shape; a computed axis stands for any size."""
    if not axes:
        if not shape:
            yield env
        return
    axis, rest = axes[0], axes[1:]
    if axis.startswith("*"):
        for length in range(len(shape) + 1):
            if env.get(axis[1:], shape[:length]) == shape[:length]:
                yield from _matches(rest, shape[length:], {**env, axis[1:]: shape[:length]})
    elif shape and axis in COMPUTED:
        yield from _matches(rest, shape[1:], env)
    elif shape and axis.isdecimal():
        if int(axis) == shape[0]:
            yield from _matches(rest, shape[1:], env)
    elif shape and env.get(axis, shape[0]) == shape[0]:
        yield from _matches(rest, shape[1:], {**env, axis: shape[0]})


def _shapes(signature: Signature, env: Env, passed: Env, tensors: Any) -> str | None:
    present = [one for one in signature.inputs if passed[one.name] is not None]
    for one in present:
        matches = list(_matches(one.axes(env), passed[one.name].shape, env))
        if not matches:
            return one.name
        assert len(matches) == 1, "a signature with two meanings was generated"
        env.update(matches[0])
    for one in present:
        if _sizes(one.axes(env), env) != passed[one.name].shape:
            return one.name
    return None


def _sizes(axes: tuple[str, ...], env: Env) -> tuple[int, ...]:
    sizes: list[int] = []
    for axis in axes:
        if axis.startswith("*"):
            sizes += env[axis[1:]]
        elif axis in COMPUTED:
            sizes.append(COMPUTED[axis][1](env))
        else:
            sizes.append(int(axis) if axis.isdecimal() else env[axis])
    return tuple(sizes)


def _refinements(signature: Signature, env: Env, passed: Env, tensors: Any) -> str | None:
    for text in signature.refinements:
        reads, holds = REFINEMENTS[text]
        if any(name not in env for name in reads):
            continue
        try:
            if holds(env):
                continue
        except ZeroDivisionError:
            pass
        return text
    return None


def _outputs(signature: Signature, env: Env, call: Call) -> Expected:
    outputs = {}
    for one in signature.outputs:
        if not CONDITIONS[one.when](env):
            continue
        shape = _sizes(one.axes(env), env)
        if any(size < 0 for size in shape):
            return Expected("output", one.name)
        outputs[one.name] = (shape, env.get(one.dtype, one.dtype))
    if call.buffer is not None and call.buffer.shape != outputs["o0"][0]:
        return Expected("output", "out")
    return Expected(outputs=outputs)


# Random signatures.


@st.composite
def axes(draw: Any, bound: set[str]) -> tuple[str, ...]:
    """A few axes, one open splice at most."""
    found: list[str] = []
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["dim", "dim", "splice", "number", "param", "sizes"]))
        name = draw(st.sampled_from(SPLICES))
        is_open = [axis for axis in found if axis[0] == "*" and axis[1:] not in bound]
        if kind == "dim":
            found.append(draw(st.sampled_from(DIMS)))
        elif kind == "splice" and (name in bound or not is_open):
            found.append(f"*{name}")
        elif kind == "number":
            found.append(str(draw(st.integers(0, 3))))
        else:
            found.append("g" if kind == "param" else "*sizes" if kind == "sizes" else "M")
    return tuple(found)


def _sure(inputs: list[Tensor]) -> set[str]:
    """The names that every call binds: those in every variant of an input always given."""
    names: set[str] = set()
    for one in inputs:
        if one.certain:
            names |= set.intersection(*({axis.lstrip("*") for axis in s} for s in one.shapes))
            names |= {one.dtype} & DTYPES.keys()
    return names


@st.composite
def signatures(draw: Any) -> Signature:
    inputs: list[Tensor] = []
    for index in range(draw(st.integers(1, 4))):
        bound = _sure(inputs)
        count = draw(st.sampled_from([1, 1, 1, 2]))
        first = index == 0
        rules = ["T", "T", "U", "float32", "float16 | int32", "T if flag else float32"]
        inputs.append(
            Tensor(
                f"i{index}",
                tuple(draw(axes(bound)) for _ in range(count)),
                draw(st.sampled_from(rules)),
                optional="false" if first else draw(st.sampled_from(["false", "true", "flag"])),
                when="true" if first else draw(st.sampled_from(["true", "true", "not flag"])),
                written=draw(st.sampled_from(["false", "false", "true", "g > 1"])),
                contiguous=draw(st.sampled_from([False, False, True])),
                host=not first and draw(st.sampled_from([False, False, True])),
            )
        )
    sure = _sure(inputs)
    computed = [text for text, (name, _) in COMPUTED.items() if name in sure]
    place = draw(st.integers(0, 2 * len(inputs) - 1))
    if computed and place < len(inputs):
        extra = draw(st.sampled_from(computed))
        shapes = tuple((*shape, extra) for shape in inputs[place].shapes)
        inputs[place] = replace(inputs[place], shapes=shapes)
    loose = [one.name for one in inputs if not one.certain]
    known = [*(f"*{n}" if n in SPLICES else n for n in sorted(sure & {*DIMS, *SPLICES})), "2", "g"]
    outputs = [
        Tensor(
            f"o{index}",
            (tuple(draw(st.lists(st.sampled_from(known + computed), max_size=3))),),
            draw(st.sampled_from(["float32", *sorted(sure & DTYPES.keys())])),
            when=draw(st.sampled_from(["true", "true", "flag"])),
        )
        for index in range(draw(st.integers(1, 2)))
    ]
    named = {a.lstrip("*") for one in inputs for shape in one.shapes for a in shape}
    possible = [t for t, (reads, _) in REFINEMENTS.items() if set(reads) - {"T"} <= named]
    possible = [t for t in possible if all(f"i{n}" not in t or n < len(inputs) for n in (1, 2))]
    return Signature(
        tuple(inputs),
        tuple(outputs),
        tuple(loose[:2]) if len(loose) > 1 and draw(st.booleans()) else (),
        tuple(draw(st.lists(st.sampled_from(possible), max_size=2, unique=True)))
        if possible
        else (),
        draw(st.booleans()),
    )


# Random calls: mostly right, then bent in a few places.


@st.composite
def calls(draw: Any, signature: Signature) -> Call:
    sizes = st.sampled_from([0, 1, 2, 3, 4, 6])
    env: Env = {
        "flag": draw(st.booleans()),
        "g": draw(st.integers(0, 3)),
        "sizes": tuple(draw(st.lists(st.integers(0, 3), max_size=2))),
    }
    params = dict(env)
    env |= {name: draw(sizes) for name in DIMS}
    env |= {name: tuple(draw(st.lists(sizes, max_size=2))) for name in SPLICES}
    env |= {name: draw(st.sampled_from(allowed)) for name, allowed in DTYPES.items()}
    inputs: list[Any] = []
    for one in signature.inputs:
        wanted = CONDITIONS[one.when](env)
        may_be_absent = CONDITIONS[one.optional](env)
        if not wanted or (may_be_absent and draw(st.booleans())):
            inputs.append(None)
            continue
        inputs.append(_tensor(one, env, CPU if one.host else CUDA))
    output = signature.outputs[0]
    has_buffer = CONDITIONS[output.when](env) and draw(st.booleans())
    call = Call(params, inputs, _tensor(output, env, CUDA) if has_buffer else None)
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2, 3]))):
        place = draw(st.integers(0, len(inputs)))
        if place < len(inputs):
            inputs[place] = draw(bent(inputs[place]))
        else:
            call.buffer = draw(bent(call.buffer))
    return call


def _tensor(one: Tensor, env: Env, device: torch.device) -> TensorSpec:
    rule = one.dtype
    if " if flag else " in rule:
        rule = rule.split(" if flag else ")[0 if env["flag"] else 1]
    dtype = env.get(rule, rule.split(" | ")[0])
    shape = tuple(max(size, 0) for size in _sizes(one.axes(env), env))
    return TensorSpec(shape, getattr(torch, dtype), device)


@st.composite
def bent(draw: Any, value: Any) -> Any:
    """The value with one thing changed, right or wrong."""
    if not isinstance(value, TensorSpec):
        return draw(st.sampled_from([None, 3, TensorSpec((2,), torch.float16, CUDA)]))
    shape = list(value.shape)
    change = draw(st.sampled_from(["none", "junk", "device", "stride", "dtype", "size", "rank"]))
    if change in ("none", "junk"):
        return None if change == "none" else [1.0]
    if change == "device":
        return replace(value, device=draw(st.sampled_from([CPU, CUDA, CUDA1, META])))
    if change == "stride":
        # Every element twice as far from the next; needs two elements to make a difference.
        stride = tuple(2 * _product(tuple(shape[i + 1 :])) for i in range(len(shape)))
        return replace(value, stride=stride) if _product(tuple(shape)) > 1 else value
    if change == "dtype":
        return replace(value, dtype=getattr(torch, draw(st.sampled_from(OTHER_DTYPES))))
    if change == "size" and shape:
        shape[draw(st.integers(0, len(shape) - 1))] = draw(st.integers(0, 4))
    elif change == "rank":
        shape = shape[1:] if shape and draw(st.booleans()) else [draw(st.integers(0, 3)), *shape]
    return replace(value, shape=tuple(shape), stride=None)


def loaded(signature: Signature, params: Env) -> CallChecks:
    """The library's checks, from the signature's text alone."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "random.yaml").write_text(signature.yaml())
        entry = manifest.load(Path(folder))["RandomFwdOp"]
    return CallChecks("RandomFwdOp", entry.signature, params)


@settings(
    max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(st.data())
def test_checks_agree_with_an_independent_checker(data: st.DataObject) -> None:
    """Accept or refuse, the stage and tensor that fail first, and the outputs inferred."""
    signature = data.draw(signatures())
    call = data.draw(calls(signature))
    expected = judge(signature, call)

    stage = tensor = None
    outputs: dict[str, tuple[tuple[int, ...], str]] = {}
    try:
        bound = loaded(signature, call.params).check(call.inputs, {"out": call.buffer})
    except SignatureError as error:
        stage, tensor = error.stage, error.tensor
        if stage == "refinement":
            tensor = error.requirement.removeprefix("requires ")
    else:
        outputs = {n: (s.shape, str(s.dtype)[len("torch.") :]) for n, s in bound.outputs.items()}
        passed = [p for p in zip(signature.inputs, call.inputs, strict=True) if p[1] is not None]
        written = [one.name for one, _ in passed if CONDITIONS[one.written](call.params)]
        assert bound.written == tuple(written)

    # The checker names a stage by its function.
    names = {"dtypes": "dtype", "shapes": "shape", "refinements": "refinement"}
    assert (stage, tensor, outputs) == (
        names.get(str(expected.stage), expected.stage),
        expected.tensor,
        expected.outputs,
    )
