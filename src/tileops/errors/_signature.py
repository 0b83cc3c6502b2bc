"""What a call or a result violates of its op's signature: one class per condition.

Every sentence names the op, the tensor, what was required and what was given; the fields stay on
the object. ``stage`` is the step of the checks that the condition belongs to.
"""

from __future__ import annotations

from typing import ClassVar

from tileops.errors._root import TileopsError


class SignatureError(TileopsError):
    """A call that does not fit its op's signature.

    Attributes:
        op: The op.
        tensor: The input, buffer or argument it is about.
        requirement: What it must be, as the end of a sentence.
        given: What it is.
    """

    stage: ClassVar[str]
    template = "{op}: {tensor} must {requirement}, got {given}"

    op: str
    tensor: str
    requirement: str
    given: str


# Presence, and being a tensor.


class MissingInputError(SignatureError, TypeError):
    """A required input is absent."""

    stage = "presence"


class UnexpectedInputError(SignatureError, TypeError):
    """An input is given, or a buffer for an output, that this call does not have."""

    stage = "presence"


class NotATensorError(SignatureError, TypeError):
    """An input or a buffer is no tensor."""

    stage = "presence"


class NotStridedError(SignatureError, TypeError):
    """An input or a buffer is a tensor without strides, such as a sparse one."""

    stage = "presence"


class IncompleteGroupError(SignatureError, TypeError):
    """Some inputs of a group that belongs together are given, and one is not."""

    stage = "presence"


class TooManyInputsError(SignatureError, TypeError):
    """More inputs are passed than the op has."""

    stage = "presence"
    template = "{op}: takes {requirement}, got {given} tensors"


# Parameters, buffers and execution arguments by keyword.


class UnknownArgumentError(SignatureError, TypeError):
    """A keyword is none of the op's."""

    stage = "presence"
    template = "{op}: {tensor} is no {requirement}{given}"


class MissingArgumentError(SignatureError, TypeError):
    """A parameter without a default is not given."""

    stage = "presence"
    template = "{op}: {tensor} has no default and must {requirement}, got {given}"


class ArgumentTypeError(SignatureError, TypeError):
    """A parameter or an execution argument has a value of another type."""

    stage = "presence"


class ArgumentValueError(SignatureError, ValueError):
    """A parameter or an execution argument has a value that is not allowed."""

    stage = "presence"


# Later stages, in their order.


class DeviceMismatchError(SignatureError, ValueError):
    """A tensor is not where the call runs, or holds no data at all."""

    stage = "device"


class NotContiguousError(SignatureError, ValueError):
    """A tensor that is declared contiguous is not."""

    stage = "contiguity"


class DtypeMismatchError(SignatureError, TypeError):
    """A tensor has a dtype that its declaration does not allow."""

    stage = "dtype"


class ShapeMismatchError(SignatureError, ValueError):
    """A tensor has another rank, or a dim of another size, than its declaration says."""

    stage = "shape"


class RefinementError(SignatureError, ValueError):
    """A condition over params, dims, dtypes and presence does not hold."""

    stage = "refinement"
    template = "{op}: {requirement}, got {given}"


class OutputShapeError(SignatureError, ValueError):
    """An output would have a shape that no tensor has."""

    stage = "output"
    template = "{op}: {tensor} would {requirement}, got {given}"


class BufferShapeError(SignatureError, ValueError):
    """A buffer does not have the shape of the output it receives."""

    stage = "output"


# What an implementation returned.


class ResultError(TileopsError):
    """An implementation returned something else than the signature says.

    Attributes:
        op: The op.
        source: The implementation, in words.
        tensor: The output.
        requirement: What it must be, as the end of a sentence.
        given: What it is.
    """

    template = "{op}: {tensor} returned by {source} must {requirement}, got {given}"

    op: str
    source: str
    tensor: str
    requirement: str
    given: str


class ResultCountError(ResultError, TypeError):
    """An implementation returned another number of results."""

    template = "{op}: {source} must return {requirement}, got {given}"


class ResultTypeError(ResultError, TypeError):
    """A result is no tensor."""


class ResultShapeError(ResultError, ValueError):
    """A result has another shape than the one inferred."""


class ResultDtypeError(ResultError, TypeError):
    """A result has another dtype than the one inferred."""


class ResultDeviceError(ResultError, ValueError):
    """A result is not on the call's device."""


class AliasingError(ResultError, ValueError):
    """A result shares memory with an input or another result, or is not the buffer given."""
