"""Which key serves which region of every family's calls, with the device facts stated."""

import pytest
import torch

from tileops.device import BOARDS
from tileops.errors import OpNotAvailableError, UnservedCallError
from tileops.kernels.gemm.call_spec import GemmCall
from tileops.kernels.norm.call_spec import LayerNormCall
from tileops.ops.gemm.gemm import GemmFwdOp
from tileops.ops.norm.ada_layer_norm import AdaLayerNormFwdOp
from tileops.ops.norm.ada_layer_norm_zero import AdaLayerNormZeroFwdOp
from tileops.ops.norm.fused_add_layer_norm import FusedAddLayerNormFwdOp
from tileops.ops.norm.fused_add_rms_norm import FusedAddRMSNormFwdOp
from tileops.ops.norm.layer_norm import LayerNormFwdOp
from tileops.ops.norm.rms_norm import RMSNormFwdOp
from tileops.testing import assert_selects

_SM90 = 90
_LAYER_NORM_ARCHS = "supports arch 80, 86, 89, 90"

ROW_NORMS = [
    pytest.param(LayerNormFwdOp, "layer_norm", id="layer-norm"),
    pytest.param(RMSNormFwdOp, "rms_norm", id="rms-norm"),
    pytest.param(FusedAddLayerNormFwdOp, "fused_add_layer_norm", id="fused-add-layer-norm"),
    pytest.param(FusedAddRMSNormFwdOp, "fused_add_rms_norm", id="fused-add-rms-norm"),
    pytest.param(AdaLayerNormFwdOp, "ada_layer_norm", id="ada-layer-norm"),
    pytest.param(AdaLayerNormZeroFwdOp, "ada_layer_norm_zero", id="ada-layer-norm-zero"),
]


@pytest.mark.parametrize(("op", "name"), ROW_NORMS)
@pytest.mark.parametrize(
    ("arch", "served"),
    [
        pytest.param(75, False, id="sm75-too-old"),
        pytest.param(80, True, id="sm80"),
        pytest.param(86, True, id="sm86"),
        pytest.param(87, False, id="sm87-between"),
        pytest.param(89, True, id="sm89"),
        pytest.param(90, True, id="sm90"),
        pytest.param(100, False, id="sm100-too-new"),
    ],
)
@pytest.mark.parametrize(
    "n",
    [
        pytest.param(1, id="n-1"),
        pytest.param(256, id="n-256"),
        pytest.param(2**31 - 1, id="n-max"),
    ],
)
def test_row_norms_by_architecture(op, name, arch, served, n):
    """The one implementation serves every width on exactly the architectures it states."""
    assert_selects(op, name, LayerNormCall(arch=arch, n=n), name if served else None)


@pytest.mark.parametrize("arch", [75, 87, 100])
def test_layer_norm_says_which_architectures_it_supports(arch):
    """The error of an architecture that is not among them names them all."""
    with pytest.raises(UnservedCallError, match=f"layer_norm: {_LAYER_NORM_ARCHS}, got {arch}"):
        LayerNormFwdOp(8).key_for("layer_norm", LayerNormCall(arch=arch, n=8))


BY_BOARD = {
    "a100": True,
    "a40": True,
    "rtx3090": True,
    "l4": True,
    "l40s": True,
    "rtx4090": True,
    "h100": True,
    "h100-pcie": True,
    "h200": True,
    "b200": False,
}


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_layer_norm_by_board(board):
    """Every known board but the B200 runs layer normalization."""
    call = LayerNormCall(
        arch=board.facts.arch,
        sm_count=board.facts.sm_count,
        smem_budget=board.facts.smem_budget,
        n=4096,
        dtype=torch.bfloat16,
    )
    key = "layer_norm" if BY_BOARD[board.name] else None
    assert_selects(LayerNormFwdOp, "layer_norm", call, key)


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32], ids=["fp16", "bf16", "fp32"]
)
@pytest.mark.parametrize("eps", [0.0, 1e-12, 1e-5, 1.0])
def test_layer_norm_refuses_no_dtype_and_no_eps(dtype, eps):
    """Neither dtype nor epsilon takes part in the choice."""
    call = LayerNormCall(arch=90, n=4096, eps=eps, dtype=dtype)
    assert_selects(LayerNormFwdOp(4096, eps), "layer_norm", call, "layer_norm")


@pytest.mark.parametrize("smem_budget", [1, 48 * 1024, 227 * 1024])
def test_layer_norm_needs_no_shared_memory_budget(smem_budget):
    """The widest row is served whatever a block can hold."""
    call = LayerNormCall(arch=90, sm_count=1, smem_budget=smem_budget, n=2**31 - 1)
    assert_selects(LayerNormFwdOp(2**31 - 1), "layer_norm", call, "layer_norm")


@pytest.mark.parametrize("device", ["cpu", "meta", "xpu:0"])
def test_layer_norm_off_cuda(device):
    """On another device type no in-tree key runs, whatever the call."""
    call = LayerNormCall(device=device, n=256)
    with pytest.raises(OpNotAvailableError, match="in-tree kernels do not run on") as caught:
        LayerNormFwdOp(256).key_for("layer_norm", call)
    assert type(caught.value) is OpNotAvailableError


def test_gemm_k_too_narrow_to_vectorize_is_refused_during_selection() -> None:
    """A sum that fills no access of a kernel is refused before anything is built."""
    op = GemmFwdOp()
    call = GemmCall(arch=_SM90, sm_count=132, m=64, n=64, k=1, dtype=torch.float16, trans_b=True)

    with pytest.raises(ValueError, match="k must span at least one"):
        op.key_for("gemm", call)
