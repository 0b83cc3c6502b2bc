"""CallChecks: the checks of one op's calls, generated from its signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from tileops.manifest import Scope, Signature
from tileops.ops._signature._arguments import check_keywords, check_value
from tileops.ops._signature._bound import BoundCall
from tileops.ops._signature._describe import dtype_of, manifest_value
from tileops.ops._signature._dims import bind_dims
from tileops.ops._signature._dtypes import bind_dtypes, check_buffer_dtypes, output_dtypes
from tileops.ops._signature._narrow import narrowed
from tileops.ops._signature._outputs import check_buffer_shapes, infer_outputs
from tileops.ops._signature._params import check_params
from tileops.ops._signature._placement import call_device, check_contiguity
from tileops.ops._signature._presence import check_buffers, check_presence
from tileops.ops._signature._refinements import check_refinements
from tileops.ops._signature._sizes import Sizes, sizes_of

_NONE: Mapping[str, Any] = {}


class CallChecks:
    """What an op instance checks its calls with.

    Attributes:
        op: The op's name.
        signature: Its signature.
        params: Its parameters, checked, in the order of the signature, defaults filled in.
    """

    def __init__(self, op: str, signature: Signature, params: Mapping[str, Any]) -> None:
        """Check the parameters.

        Args:
            op: The op's name, for messages.
            signature: The op's signature.
            params: The constructor's arguments by name.

        Raises:
            SignatureError: A parameter is unknown, missing, or has a wrong value.
        """
        self.op = op
        self.signature = signature
        # Ops with equal parameters share them.
        self.params = MappingProxyType(check_params(op, signature, params))
        self._values = {name: manifest_value(value) for name, value in self.params.items()}
        self._narrowed = narrowed(signature, self._values)

    def check(
        self,
        inputs: Sequence[torch.Tensor | Any],
        buffers: Mapping[str, Any] = _NONE,
        execution: Mapping[str, Any] = _NONE,
    ) -> BoundCall:
        """Check a call and return what the signature says of it; nothing runs.

        The stages run in this order, each over all tensors before the next: presence and being a
        tensor; device; contiguity; dtypes; shapes; refinements; outputs.

        Args:
            inputs: A tensor or a `TensorSpec` per input, in order; None, or nothing at the end,
                where absent.
            buffers: Output buffers by keyword; None where absent.
            execution: Execution arguments by keyword.

        Raises:
            SignatureError: The subclass of the first condition violated.
        """
        op, signature = self.op, self._narrowed
        specs = check_presence(op, signature, self._values, inputs)
        scope = Scope(self._values, frozenset(specs))
        receiving = check_buffers(op, signature, scope, buffers)
        passed = self._execution(execution)

        device = call_device(op, signature, specs, receiving)
        check_contiguity(op, signature, specs, receiving)

        variables, dtype_origins = bind_dtypes(op, signature, scope, specs)
        scope = scope.extended(variables)
        dtypes = output_dtypes(signature, scope, specs)
        check_buffer_dtypes(op, signature, receiving, dtypes)

        dims, origins = bind_dims(op, signature, scope, specs)
        scope = scope.extended(dims)
        check_refinements(op, signature.refinements, scope, dtype_origins | origins)

        outputs = infer_outputs(op, signature, scope, dtypes, specs, device=device)
        check_buffer_shapes(op, signature, receiving, outputs)

        return BoundCall(
            op=op,
            device=device,
            params=self.params,
            dims=dims,
            dtypes={name: dtype_of(value) for name, value in variables.items()},
            inputs={decl.name: specs.get(decl.name) for decl in signature.inputs},
            written=self._written(scope),
            outputs=outputs,
            aliases={d.name: d.alias for d in signature.outputs if d.alias and d.name in outputs},
            buffers={b.output: b.name for b in signature.buffers if b.name in receiving},
            execution=passed,
        )

    def sizes(self, call: BoundCall) -> Sizes | None:
        """Return what calls that differ from *call* in sizes alone must satisfy.

        None where the checks cannot be reduced to that.

        Args:
            call: A call that passed the checks.
        """
        return sizes_of(self._narrowed, call)

    def _execution(self, execution: Mapping[str, Any]) -> dict[str, Any]:
        decls = {decl.name: decl for decl in self.signature.execution}
        check_keywords(self.op, "execution argument", self.signature.execution, execution)
        return {name: check_value(self.op, decls[name], value) for name, value in execution.items()}

    def _written(self, scope: Scope) -> tuple[str, ...]:
        return tuple(
            decl.name
            for decl in self._narrowed.inputs
            if decl.name in scope.given and decl.written.evaluate(scope)
        )
