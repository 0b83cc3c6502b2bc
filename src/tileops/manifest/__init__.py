"""What each op must do: YAML per family, loaded into frozen records. Needs no torch.

The form of an entry is described in docs/signatures-and-the-manifest.md.
"""

from tileops.manifest._entry import OpEntry, Roofline, Workload
from tileops.manifest._load import load, op_names
from tileops.manifest._scope import Scope
from tileops.manifest._signature import (
    BufferDecl,
    DtypeVar,
    OutputDecl,
    ParamDecl,
    Refinement,
    Signature,
    TensorDecl,
)
from tileops.manifest._typed_shape import TypedShape
from tileops.manifest.errors import ExpressionError, ManifestError

__all__ = [
    "BufferDecl",
    "DtypeVar",
    "ExpressionError",
    "ManifestError",
    "OpEntry",
    "OutputDecl",
    "ParamDecl",
    "Refinement",
    "Roofline",
    "Scope",
    "Signature",
    "TensorDecl",
    "TypedShape",
    "Workload",
    "load",
    "op_names",
]
