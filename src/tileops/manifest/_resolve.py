"""Static checks of a signature: every name is known where it is read, and bound when it is.

What is refused here could otherwise surprise a call: an output whose shape no input determines,
two open splices in one shape, a scale that belongs to a group but must always be given.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from tileops.manifest._dtype import DtypeRule
from tileops.manifest._evaluate import FUNCTIONS, TENSOR_FUNCTIONS
from tileops.manifest._expression import NEVER, Expression
from tileops.manifest._form import nearest
from tileops.manifest._itemsize import ITEMSIZE
from tileops.manifest._names import Names, always_given, axes_of
from tileops.manifest._node import Node
from tileops.manifest._shape import Shape
from tileops.manifest._signature import OutputDecl, Signature, TensorDecl
from tileops.manifest._splices import check_splices


def resolve(signature: Signature, node: Node) -> None:
    """Raise ManifestError at the first place where a name or a declaration does not fit."""
    names = Names(signature)
    _check_distinct(signature, names, node)
    for argument in signature.execution:
        if argument.required:
            raise node.at("execution", argument.name).error("an execution argument has a default")
    for decl in signature.inputs:
        _check_input(decl, names, node.at("inputs", decl.name))
    check_splices(signature, names, node)
    for output in signature.outputs:
        _check_output(output, signature, names, node.at("outputs", output.name))
    for buffer in signature.buffers:
        _check_buffer(buffer.output, signature, node.at("buffers", buffer.name))
    _check_groups(signature, names, node)
    _check_refinements(signature, names, node)
    _check_whole(signature, node)


def check_reads(
    expression: Expression,
    node: Node,
    values: Set[str],
    given: Set[str],
    tensors: Set[str] = frozenset(),
) -> None:
    """Raise ManifestError where an expression reads a name that has no value there."""
    wanted = (
        (expression.names, values | ITEMSIZE.keys(), "is unknown here, or not bound by every call"),
        (expression.given, given, "is no input"),
        (expression.tensors, tensors, "is no tensor here"),
    )
    for read, known, problem in wanted:
        for name in sorted(read - known):
            hint = nearest(name, known - ITEMSIZE.keys())
            raise node.error(f"{name!r} {problem}{hint}")


def _check_distinct(signature: Signature, names: Names, node: Node) -> None:
    taken: dict[str, str] = dict.fromkeys([*ITEMSIZE], "a dtype")
    taken |= dict.fromkeys([*FUNCTIONS, *TENSOR_FUNCTIONS], "a function")
    for section in ("params", "dtypes", "inputs", "outputs", "buffers", "execution"):
        for decl in getattr(signature, section):
            if decl.name in taken:
                raise node.at(section, decl.name).error(
                    f"{decl.name!r} is already {taken[decl.name]}"
                )
            taken[decl.name] = f"one of {section}"
    for decl in signature.inputs:
        for axis in axes_of(decl.shape):
            if axis.name in taken and axis.name not in names.params:
                place = node.at("inputs", decl.name, "shape")
                raise place.error(f"the dim {axis.name!r} is already {taken[axis.name]}")


def _check_input(decl: TensorDecl, names: Names, node: Node) -> None:
    others = names.inputs - {decl.name}
    for field in ("optional", "when", "written"):
        check_reads(getattr(decl, field), node.at(field), names.params, others)
    for field in ("shape", "dtype"):
        rule: Shape | DtypeRule = getattr(decl, field)
        for case in rule.cases:
            check_reads(case.when, node.at(field), names.params, others)
    _check_dtype_names(decl.dtype.names, names.variables | names.dtype_params, node.at("dtype"))
    _check_axes(decl.shape, names, names.dims, node.at("shape"))


def _check_axes(shape: Shape, names: Names, named: Set[str], node: Node) -> None:
    for axis in axes_of(shape):
        if axis.name is None:
            check_reads(axis.size, node, names.params | names.bound, frozenset())
        elif axis.name in names.params:
            wanted, kind = (
                (names.tuples, "tuple[int, ...]") if axis.splice else (names.sizes, "int")
            )
            if axis.name not in wanted:
                raise node.error(
                    f"the parameter {axis.name!r} is not of type {kind}, as {axis} needs"
                )
        elif axis.name not in named:
            hint = nearest(axis.name, named | names.tuples | names.sizes)
            raise node.error(f"{axis.name!r} is not bound by every call{hint}")


def _check_dtype_names(used: Iterable[str], known: Set[str], node: Node) -> None:
    for name in sorted(used):
        if name not in known and name not in ITEMSIZE:
            raise node.error(f"unknown dtype {name!r}{nearest(name, known | ITEMSIZE.keys())}")


def _check_output(output: OutputDecl, signature: Signature, names: Names, node: Node) -> None:
    check_reads(output.when, node.at("when"), names.params, names.inputs)
    if output.alias is not None:
        decl = next(decl for decl in signature.inputs if decl.name == output.alias)
        if not always_given(decl) or decl.written == NEVER or decl.written != output.when:
            problem = "which every call must pass and write whenever this output is returned"
            raise node.at("alias").error(f"the output is the input {output.alias!r}, {problem}")
        return
    variables = names.variables & names.bound
    for shape_case in output.shape.cases:
        known = names.params | names.bound
        check_reads(shape_case.when, node.at("shape"), known, names.inputs)
    for dtype_case in output.dtype.cases:
        check_reads(dtype_case.when, node.at("dtype"), names.params | variables, names.inputs)
    _check_dtype_names(output.dtype.names, variables | names.dtype_params, node.at("dtype"))
    for case in output.dtype.cases:
        if len(case.value) != 1:
            raise node.at("dtype").error("an output has one dtype, not alternatives")
    _check_axes(output.shape, names, names.bound, node.at("shape"))


def _check_buffer(output: str, signature: Signature, node: Node) -> None:
    outputs = {decl.name: decl for decl in signature.outputs}
    if output not in outputs:
        raise node.at("output").error(f"{output!r} is no output{nearest(output, outputs)}")
    if outputs[output].alias is not None:
        raise node.at("output").error(f"{output!r} is an input given back and takes no buffer")


def _check_groups(signature: Signature, names: Names, node: Node) -> None:
    places = node.at("together").elements() if signature.together else []
    given = {decl.name: always_given(decl) for decl in signature.inputs}
    for group, place in zip(signature.together, places, strict=True):
        if len(group) < 2:
            raise place.error(f"a group has two inputs or more, got {list(group)}")
        for name in group:
            if name not in given:
                raise place.error(f"{name!r} is no input{nearest(name, names.inputs)}")
            if given[name]:
                raise place.error(f"{name!r} is given by every call and belongs to no group")


def _check_refinements(signature: Signature, names: Names, node: Node) -> None:
    places = node.at("refinements").elements() if signature.refinements else []
    values = names.params | names.dims | names.variables
    for refinement, place in zip(signature.refinements, places, strict=True):
        check_reads(refinement.require, place.at("require"), values, names.inputs)


def _check_whole(signature: Signature, node: Node) -> None:
    if not any(always_given(decl) and decl.device == "call" for decl in signature.inputs):
        raise node.at("inputs").error("no input says which device the call runs on")
    if not signature.outputs and all(decl.written == NEVER for decl in signature.inputs):
        raise node.error("the op neither returns nor writes anything")
