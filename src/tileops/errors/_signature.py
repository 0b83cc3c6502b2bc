"""What a call violates of its op's signature: one class per condition.

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
    """A required input is absent.

    Cause:
        The argument is None or left out, and the signature does not make it optional for these
        parameters.

    Remedy:
        Pass the tensor.
    """

    stage = "presence"


class UnexpectedInputError(SignatureError, TypeError):
    """An input is given, or a buffer for an output, that this call does not have.

    Cause:
        The parameters of the op say that the call has no such input or output.

    Remedy:
        Leave it out, or construct the op with the parameters that ask for it.
    """

    stage = "presence"


class NotATensorError(SignatureError, TypeError):
    """An input or a buffer is no tensor.

    Cause:
        A number, an array or another object stands where a tensor belongs.

    Remedy:
        Convert it, for example with ``torch.as_tensor``.
    """

    stage = "presence"


class NotStridedError(SignatureError, TypeError):
    """An input or a buffer is a tensor without strides, such as a sparse one.

    Cause:
        The tensor has a sparse or another layout that kernels cannot address.

    Remedy:
        Convert it, for example with ``to_dense()``.
    """

    stage = "presence"


class IncompleteGroupError(SignatureError, TypeError):
    """Some inputs of a group that belongs together are given, and one is not.

    Cause:
        The signature gives these inputs together or not at all.

    Remedy:
        Pass all of the group, or none.
    """

    stage = "presence"


class TooManyInputsError(SignatureError, TypeError):
    """More inputs are passed than the op has.

    Cause:
        The call passes more positional tensors than the signature lists.

    Remedy:
        Pass those that the signature names, and buffers by keyword.
    """

    stage = "presence"
    template = "{op}: takes {requirement}, got {given} tensors"


# Parameters, buffers and execution arguments by keyword.


class UnknownArgumentError(SignatureError, TypeError):
    """A keyword is none of the op's.

    Cause:
        The keyword is misspelt, or belongs to the constructor instead of the call, or the
        reverse.

    Remedy:
        Use the name that the message suggests.
    """

    stage = "presence"
    template = "{op}: {tensor} is no {requirement}{given}"


class MissingArgumentError(SignatureError, TypeError):
    """A parameter without a default is not given.

    Cause:
        The constructor is called without it.

    Remedy:
        Pass it.
    """

    stage = "presence"
    template = "{op}: {tensor} has no default and must {requirement}, got {given}"


class ArgumentTypeError(SignatureError, TypeError):
    """A parameter or an execution argument has a value of another type.

    Cause:
        The value cannot be read as the declared type.

    Remedy:
        Pass a value of the type that the message names.
    """

    stage = "presence"


class ArgumentValueError(SignatureError, ValueError):
    """A parameter or an execution argument has a value that is not allowed.

    Cause:
        The value is not among the choices, a number is not finite, or a size is negative.

    Remedy:
        Pass a value that the message allows.
    """

    stage = "presence"


# Later stages, in their order.


class DeviceMismatchError(SignatureError, ValueError):
    """A tensor is not where the call runs, or holds no data at all.

    Cause:
        The inputs are on several devices, one that stays on the host is not there, or one is a
        meta tensor.

    Remedy:
        Move the tensor to the device that the message names.
    """

    stage = "device"


class NotContiguousError(SignatureError, ValueError):
    """A tensor that is declared contiguous is not.

    Cause:
        The tensor is written in place or receives an output, so the op cannot copy it.

    Remedy:
        Pass a contiguous tensor.
    """

    stage = "contiguity"


class DtypeMismatchError(SignatureError, TypeError):
    """A tensor has a dtype that its declaration does not allow.

    Cause:
        The dtype is not among the declared ones, or differs from that of a tensor it has to
        agree with.

    Remedy:
        Convert the tensor to the dtype that the message names.
    """

    stage = "dtype"


class ShapeMismatchError(SignatureError, ValueError):
    """A tensor has another rank, or a dim of another size, than its declaration says.

    Cause:
        The rank differs, or a dim differs from the parameter or the tensor that fixed it.

    Remedy:
        Reshape the tensor, or construct the op with other parameters.
    """

    stage = "shape"


class RefinementError(SignatureError, ValueError):
    """A condition over params, dims, dtypes and presence does not hold.

    Cause:
        The call meets every single shape and dtype, and not a condition between them.

    Remedy:
        Change one of the values that the message shows.
    """

    stage = "refinement"
    template = "{op}: {requirement}, got {given}"


class OutputShapeError(SignatureError, ValueError):
    """An output would have a shape that no tensor has.

    Cause:
        The sizes of the inputs make an output with a negative or fractional dim.

    Remedy:
        Pass inputs, or construct the op with parameters, for which the output exists.
    """

    stage = "output"
    template = "{op}: {tensor} would {requirement}, got {given}"


class BufferShapeError(SignatureError, ValueError):
    """A buffer does not have the shape of the output it receives.

    Cause:
        The buffer was allocated for another call.

    Remedy:
        Allocate it with the shape that the message names, or leave it out.
    """

    stage = "output"


class BufferOverlapError(SignatureError, ValueError):
    """A tensor that is written shares memory with another, or its elements with each other.

    Cause:
        A buffer, or an input that the call writes, is another tensor of the call, a view of one,
        or an expanded tensor.

    Remedy:
        Pass a tensor of its own, or leave the buffer out.
    """

    stage = "memory"


class LazyWriteError(SignatureError, ValueError):
    """A tensor that is written negates or conjugates what lies in memory when it is read.

    Cause:
        The tensor is a lazy view, as ``torch.conj``, ``.imag`` of one or ``torch._neg_view`` make
        it, and a kernel writes through addresses.

    Remedy:
        Pass what ``resolve_neg()`` or ``resolve_conj()`` returns, and copy it back.
    """

    stage = "memory"
