"""The checks of a call and of its results, generated from the op's signature.

Pure functions over tensors or their descriptions; nothing here runs a kernel or queries a device.
"""

from tileops.errors import ResultError, SignatureError
from tileops.ops._signature._bound import BoundCall
from tileops.ops._signature._checks import CallChecks
from tileops.ops._signature._cost import Cost, cost_of
from tileops.ops._signature._dims import shape_of
from tileops.ops._signature._params import check_params
from tileops.ops._signature._plain_results import plain_results
from tileops.ops._signature._results import check_results, empty_outputs
from tileops.ops._signature._sizes import Sizes
from tileops.ops._signature._workload import workload_inputs, workload_params

__all__ = [
    "BoundCall",
    "CallChecks",
    "Cost",
    "ResultError",
    "SignatureError",
    "Sizes",
    "check_params",
    "check_results",
    "cost_of",
    "empty_outputs",
    "plain_results",
    "shape_of",
    "workload_inputs",
    "workload_params",
]
