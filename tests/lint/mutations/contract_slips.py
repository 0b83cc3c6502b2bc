"""Slips in interfaces and call specs, and in their uses."""

from mutants import Slip
from places import KERNELS, ODD_CALL, OPS, SPECS

__all__ = ["CONTRACT", "SUPPRESSIONS", "USES"]

CONTRACT = (
    Slip(
        "interface-name",
        SPECS,
        r"class (\w+)FwdInterface\(KernelInterface\)",
        (
            r"class \1FwdWideInterface(KernelInterface)",
            r"class \1Interface(KernelInterface)",
            r"class \1FwdTrainFwdInterface(KernelInterface)",
        ),
        also=(
            "interface-without-implementation",
            "registered-class-without-interface",
            "call-spec-unread-fact",
            "missing-abstract-method",
            "contract-placement",
            "unknown-call-fact",
        ),
    ),
    Slip(
        "call-spec-not-frozen",
        SPECS,
        r"dataclass\(frozen=True\)",
        ("dataclass", "dataclass()", "dataclass(frozen=False)"),
    ),
    Slip(
        "call-spec-mutable-field",
        SPECS,
        r"^    (n|dtype): [^\n]* = [^\n]*\n",
        (
            r"    \1: list[int] = None\n",
            r"    \1: torch.Tensor = None\n",
            r"    \1: dict[str, int] = dataclasses.field(default_factory=dict)\n",
        ),
        also=("build-identity-has-tensor", "build-identity-unhashable"),
    ),
    Slip(
        "call-spec-field-without-default",
        SPECS,
        r"^    (n|dtype|eps): ([^\n]*) = [^\n]*\n",
        (r"    \1: \2\n",),
    ),
    Slip(
        "call-spec-unannotated-field",
        SPECS,
        r"^    (n|eps): [^\n]* = ([^\n]*)\n",
        (r"    \1 = \2\n",),
        also=("call-spec-unknown-field", "unknown-call-fact", "redundant-declaration"),
    ),
    Slip(
        "call-spec-redeclares-device-fact",
        SPECS,
        r"^(    n: )",
        (r"    arch: int = 0\n\1", r"    smem_budget: int | None = None\n\1"),
    ),
    Slip(
        "call-spec-policy-field",
        SPECS,
        r"^(    n: )",
        (r"    autotune: bool = False\n\1", r"    priority: int = 0\n\1"),
        also=("call-spec-unread-fact",),
    ),
    Slip(
        "call-spec-unread-fact",
        "*/family*/call_spec.py",
        r"^(    n: )",
        (r"    zeta_width: int = 0\n\1",),
    ),
    Slip(
        "interface-request",
        SPECS,
        r"^    request = \w+\n",
        ("", "    request = int\n"),
        also=("call-spec-unread-fact",),
    ),
    Slip("interface-forward-abstract", SPECS, r"    @abstractmethod\n(?=    def forward)", ("",)),
    Slip(
        "interface-forward-abstract",
        SPECS,
        r"def forward\(",
        ("def forwards(",),
        also=("forward-signature", "missing-abstract-method"),
    ),
    Slip(
        "interface-docstring",
        SPECS,
        r'^(class \w+Interface\(KernelInterface\):\n)    """[^\n]*"""\n',
        (r"\1",),
    ),
    Slip("interface-docstring", SPECS, r"^        Returns:\n[^\"]*", ("        ",)),
    Slip(
        "interface-docstring-vague",
        SPECS,
        r"; every tensor is contiguous on ``call\.device``|\. Every tensor is contiguous on ``call\.device``",
        ("",),
    ),
    Slip(
        "contract-placement",
        "src/tileops/kernels/norm/layer_norm.py",
        r"\Z",
        ('\n\nclass StrayFwdInterface(LayerNormFwdInterface):\n    """Rows."""\n',),
        more=(
            (
                "src/tileops/kernels/norm/*rms_norm.py",
                r"^(class \w+\(RowNormKernel)",
                r"from tileops.kernels.norm.layer_norm import StrayFwdInterface\n\n\n\1, StrayFwdInterface",
            ),
        ),
        also=("missing-abstract-method", "forward-signature"),
    ),
)

USES = (
    Slip(
        "op-overrides-entry-for",
        ("src/tileops/ops/norm/*norm*.py", "src/tileops/ops/family*/op*.py"),
        r"^(    def __init__\(self)",
        (
            r"    def entry_for(self, interface, call):\n        return super().entry_for(interface, call)\n\n\1",
        ),
    ),
    Slip(
        "op-kernel-cache",
        "*/ops/family*/*.py",
        r"return (self\.kernel_for\([^\n]*?call\))\(",
        (r"self.kept = \1\n        return self.kept(",),
    ),
    Slip(
        "op-constructs-kernel",
        "src/tileops/ops/norm/*.py",
        r"import (\w+Kernel)\n(.*?)^(        call = LayerNormCall\()",
        (r"import \1\n\2        \1(1, 2.0, None)\n\3",),
        elsewhere=True,
    ),
    Slip(
        "value-from-implementation",
        OPS,
        r"^(        call = \w+Call\()",
        (r"        self.kernel_types['layer_norm'].size(self)\n\1",),
    ),
    Slip(
        "entry-method-not-in-interface",
        "*/ops/family*/*.py",
        r"return (self\.kernel_for\([^\n]*?call\))\(",
        (r"return \1.warm(",),
    ),
    Slip(
        "kernel-for-states-device-fact",
        OPS,
        r"^(        call = \w+Call\(\s*)",
        (r"\1arch=90, ", r"\1sm_count=1, "),
    ),
    Slip("call-spec-unknown-field", OPS, r"\bn=", ("nn=",)),
    Slip(
        "call-spec-mutable-argument",
        OPS,
        r"eps=([^\n]*?)([,)]\s*dtype|,\n|, causal)",
        (r"eps=[\1]\2", r"eps=list(\1)\2"),
    ),
    Slip(
        "call-spec-wrong-request",
        OPS,
        r"^        call = \w+Call\((?:(?!^    def).)*?^(        return )",
        (r"        call = OddCall(odd=1)\n\1",),
        more=((OPS, r"^(class \w+Op\(Op\):)", ODD_CALL + r"\1"),),
        also=("call-spec-unread-fact", "contract-placement"),
    ),
    Slip("dispatch-test-device-facts", "tests/ops/family*/*.py", r"arch=90, sm_count=132, ", ("",)),
    Slip(
        "dispatch-test-raises-match",
        "tests/ops/*.py",
        r"(pytest\.raises\(\w+Error), match=[^\n]*?\)(?=:\n[^\n]*key_for| as caught:\n[^\n]*key_for)",
        (r"\1)",),
    ),
    Slip(
        "untested-key",
        "tests/ops/family*/*.py",
        r'\A("""Selection)',
        (r"\1 of keys",),
        more=(("tests/ops/family*/*.py", r'== "family\d+_key0"', '== "nothing"'),),
        elsewhere=True,
    ),
    Slip("contiguity-not-enforced", "*/ops/family*/*.py", r"x\.contiguous\(\)", ("x",)),
)

SUPPRESSIONS = (
    Slip(
        "unused-ignore",
        KERNELS,
        r"^(class \w+\([^\n]*\):)$",
        (r"\1  # tileops: ignore[interface-name] -- none",),
    ),
    Slip(
        "unknown-ignore",
        KERNELS,
        r"^(class \w+\([^\n]*\):)$",
        (r"\1  # tileops: ignore[interface-nam]",),
    ),
    Slip("syntax-error", KERNELS, r"^class (\w+)\(", (r"class \1((",), elsewhere=True),
)
