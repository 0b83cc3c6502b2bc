"""What each op must do: YAML per family, loaded into frozen records. Needs no torch.

The form of an entry is described in docs/signatures-and-the-manifest.md.
"""

from tileops.errors import ExpressionError, ManifestError
from tileops.manifest._dtype import DtypeRule
from tileops.manifest._entry import OpEntry, Roofline, Workload
from tileops.manifest._expression import Expression
from tileops.manifest._form import FormError, nearest
from tileops.manifest._function import Place
from tileops.manifest._load import load, op_names
from tileops.manifest._param_type import ParamType
from tileops.manifest._scope import Scope
from tileops.manifest._shape import Axis, Shape
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

__all__ = [
    "Axis",
    "BufferDecl",
    "DtypeRule",
    "DtypeVar",
    "Expression",
    "ExpressionError",
    "FormError",
    "ManifestError",
    "OpEntry",
    "OutputDecl",
    "ParamDecl",
    "ParamType",
    "Place",
    "Refinement",
    "Roofline",
    "Scope",
    "Shape",
    "Signature",
    "TensorDecl",
    "TypedShape",
    "Workload",
    "load",
    "nearest",
    "op_names",
]
