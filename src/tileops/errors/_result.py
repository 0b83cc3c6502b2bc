"""What an implementation returned that its op's signature does not allow: one class per condition.

Every sentence names the op, the implementation, the output, what was required and what was given.
"""

from __future__ import annotations

from tileops.errors._root import TileopsError


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
    """An implementation returned another number of results.

    Cause:
        The kernel returns a single tensor, or a tuple of another length, where the signature
        lists other outputs.

    Remedy:
        Return one tensor per output of the signature, in its order.
    """

    template = "{op}: {source} must return {requirement}, got {given}"


class ResultTypeError(ResultError, TypeError):
    """A result is no tensor.

    Cause:
        The kernel returns None or another object for an output.

    Remedy:
        Return a tensor.
    """


class ResultShapeError(ResultError, ValueError):
    """A result has another shape than the one inferred.

    Cause:
        The kernel allocates its output with a shape of its own.

    Remedy:
        Return the shape that the signature infers from the inputs.
    """


class ResultDtypeError(ResultError, TypeError):
    """A result has another dtype than the one inferred.

    Cause:
        The kernel returns the dtype it computes in.

    Remedy:
        Convert the result to the dtype that the signature states.
    """


class ResultDeviceError(ResultError, ValueError):
    """A result is not on the call's device.

    Cause:
        The kernel allocates its output on another device.

    Remedy:
        Allocate it on the device of the inputs.
    """


class ResultNotStridedError(ResultError, TypeError):
    """A result is a tensor without strides.

    Cause:
        The kernel returns a sparse or a nested tensor.

    Remedy:
        Return a dense tensor.
    """


class ResultNotContiguousError(ResultError, ValueError):
    """A result is not contiguous.

    Cause:
        The kernel returns a transposed, an expanded or another strided view, or one that negates
        or conjugates what lies in memory.

    Remedy:
        Write the output as a new contiguous tensor, as ``torch.empty`` makes it.
    """


class ResultWithoutMemoryError(ResultError, TypeError):
    """A result wraps another tensor, or is fake.

    Cause:
        The kernel returns what a tracer or a tensor subclass made.

    Remedy:
        Return an ordinary tensor.
    """


class ResultGradientError(ResultError, ValueError):
    """A result of an in-tree or added kernel requires a gradient.

    Cause:
        The kernel computes with torch from a tensor of its own that requires a gradient, or returns
        a parameter.

    Remedy:
        Compute without recording, and let the op declare its backward.
    """


class AliasingError(ResultError, ValueError):
    """A result shares memory with an input or another result, or is not the buffer given.

    Cause:
        The kernel returns an input, a view of one, one tensor twice, or a new tensor where a
        buffer was passed.

    Remedy:
        Return new tensors, the buffers that were passed, and the inputs that the signature
        returns as outputs.
    """
