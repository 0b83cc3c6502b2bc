"""Slips in what ops and backends register."""

from mutants import Slip
from places import ACME, GENERATED, KERNELS, OPS, OWN, REGISTERING

__all__ = ["PRECEDENCE", "REGISTRATION"]

REGISTRATION = (
    Slip(
        "kernel-key-snake-case",
        OPS,
        r'"(\w+)": (\w+Kernel)\b',
        (r'"\1Key": \2', r'"_\1": \2'),
        also=("preferred-over-unknown-key",),
    ),
    Slip(
        "registered-class-not-kernel",
        KERNELS,
        r"\((?:Row|)(?:Norm)?Kernel, (\w+FwdInterface)\)",
        (r"(\1)",),
        also=(
            "interface-name",
            "interface-forward-abstract",
            "interface-docstring",
            "interface-without-implementation",
            "interface-request",
        ),
        elsewhere=True,
    ),
    Slip(
        "registered-class-without-interface",
        KERNELS,
        r"\((\w*Kernel), \w+FwdInterface\)",
        (r"(\1)",),
        also=("interface-without-implementation", "preferred-over-unknown-key"),
        elsewhere=True,
    ),
    Slip(
        "interface-without-implementation",
        OWN,
        r"\((\w*Kernel), \w+FwdInterface\)",
        (r"(\1)",),
        also=("registered-class-without-interface", "preferred-over-unknown-key"),
        equivalent={"(Kernel, LayerNormFwdInterface)": "the template backend implements it too"},
        elsewhere=True,
    ),
    Slip(
        "op-without-interfaces",
        OPS,
        r"^    interfaces[^=\n]*= \{[^}]*\}\n",
        ("",),
        also=("unknown-interface-key",),
    ),
    Slip(
        "duplicate-mapping-key",
        OPS,
        r'("\w+": \w+Kernel)\b',
        (r"\1, \1",),
    ),
    Slip(
        "unknown-interface-key",
        OPS,
        r'return \(\("(\w+)", call\),\)',
        (r'return (("\1s", call),)',),
    ),
    Slip("unknown-interface-key", OPS, r'kernel_for\("(\w+)"', (r'kernel_for("\1_"',)),
    Slip(
        "register-unknown-op", REGISTERING, r'"LayerNormFwdOp", "acme', (r'"LayerNormOp", "acme',)
    ),
    Slip(
        "register-duplicate-key",
        REGISTERING,
        r'"acme_layer_norm_short_rows"',
        ('"layer_norm"',),
        also=("preferred-over-unknown-key",),
    ),
    Slip(
        "register-in-function",
        REGISTERING,
        r"^(register_kernel_type\([^\n]*)",
        (r"def later():\n    \1",),
    ),
    Slip(
        "entry-point-module-missing",
        "docs/examples/*/pyproject.toml",
        r'"tileops_acme"\n',
        ('"tileops_acmee"\n',),
    ),
    Slip(
        "target-without-builder",
        REGISTERING,
        r"\Z",
        ('\nregister_detector(target="acmee", detect=lambda device: False)\n',),
        more=((REGISTERING, r"import (register_device_facts)", r"import register_detector, \1"),),
    ),
    Slip(
        "build-kernel-signature",
        "docs/examples/*/_target.py",
        r"    bias: TensorSpec \| None,\n    \*,",
        ("    *,",),
        elsewhere=True,
    ),
    Slip("build-at-import", REGISTERING, r"\Z", ("\nBUILT = ShortRowsLayerNorm(64, 1e-5)\n",)),
    Slip(
        "device-facts-missing",
        ACME,
        r'devices = frozenset\(\{"cpu"\}\)',
        ('devices = frozenset({"npu"})',),
    ),
    Slip(
        "separate-key-mapping",
        "src/tileops/ops/family*/*.py",
        r'(    kernel_types = \{\n        ("\w+"): \w+,\n        ("\w+"): \w+,\n    \}\n    interfaces = \{"\w+": (\w+)\}\n)',
        (r"\1    KEYS = {\2: \4, \3: \4}\n",),
    ),
    Slip(
        "builder-without-detector",
        REGISTERING,
        r'"LayerNormFwdOp", target="acme"',
        ('"LayerNormFwdOp", target="acmee"',),
    ),
    Slip(
        "key-in-several-interfaces",
        "src/tileops/ops/norm/rms_norm.py",
        r'= \{"rms_norm": RMSNormFwdInterface\}',
        ('= {"rms_norm": RMSNormFwdInterface, "layer": LayerNormFwdInterface}',),
        more=(
            (
                "src/tileops/*/norm/rms_norm.py",
                r"import (LayerNormCall, )?RMSNormFwdInterface",
                r"import \1LayerNormFwdInterface, RMSNormFwdInterface",
            ),
            (
                "src/tileops/kernels/norm/rms_norm.py",
                r"RowNormKernel, RMSNormFwdInterface\)",
                r"RowNormKernel, RMSNormFwdInterface, LayerNormFwdInterface)",
            ),
        ),
        also=("forward-signature",),
    ),
)

PRECEDENCE = (
    Slip(
        "several-general",
        GENERATED,
        r"    supported_archs = \[80, 89, 90\]\n",
        ("    general = True\n",),
        elsewhere=True,
    ),
    Slip(
        "several-general",
        ACME,
        r'(    devices = frozenset\(\{"cpu"\}\)\n)',
        (r"\1    general = True\n",),
        more=(
            (
                "src/tileops/kernels/norm/layer_norm.py",
                r"(    supported_archs)",
                r"    general = True\n\1",
            ),
        ),
        elsewhere=True,
    ),
    Slip(
        "general-inherited",
        GENERATED,
        r"class (Family(\d+)Variant)(\d\d?)Kernel\(Kernel, (\w+)\)(?=:\n    \"\"\"[^\n]*\n\n    supported)",
        (r"class \1\3Kernel(General, \4)",),
        more=(
            (
                GENERATED,
                r"^(class Family(\d+)Variant(?:7)Kernel\(General)",
                r"from tileops.kernels.family\2.kernel0 import Family\2Variant0Kernel as General\n\n\n\1",
            ),
        ),
        equivalent={f"Variant{n}Kernel": "another key's interface" for n in (8, 9, 10, 11, 12)},
    ),
    Slip(
        "redundant-declaration",
        KERNELS,
        r"^(    supported_archs = \[80, 89, 90\]\n|    devices = frozenset\(\{\"cpu\"\}\)\n)",
        (r"\1    general = False\n", r"\1    preferred_over = frozenset()\n"),
    ),
    Slip(
        "general-with-preference",
        GENERATED,
        r"^    general = True\n(?=.*)",
        ('    general = True\n    preferred_over = frozenset({"family0_key7"})\n',),
        also=("preferred-over-unknown-key",),
    ),
    Slip(
        "redundant-preference",
        "*/kernels/family0/kernel7.py",
        r"^(    supported_archs = )",
        (r'    preferred_over = frozenset({"family0_key0"})\n\1',),
    ),
    Slip(
        "preferred-over-unknown-key",
        KERNELS,
        r"^(    supported_archs(?:: list\[int\])? = )",
        (r'    preferred_over = frozenset({"layer_nrm"})\n\1',),
        elsewhere=True,
    ),
    Slip(
        "preferred-over-unknown-key",
        ACME,
        r"^(    devices = )",
        (r'    preferred_over = frozenset({"layer_nrm"})\n\1',),
    ),
    Slip(
        "preferred-over-cycle",
        ACME,
        r"^(    devices = )",
        (r'    preferred_over = frozenset({"layer_norm"})\n\1',),
        more=(
            (
                "src/tileops/kernels/norm/layer_norm.py",
                r"(    supported_archs)",
                r'    preferred_over = frozenset({"acme_layer_norm_short_rows"})\n\1',
            ),
        ),
        also=("preferred-over-unknown-key",),
    ),
    Slip(
        "preferred-over-type",
        KERNELS,
        r"^(    supported_archs(?:: list\[int\])? = |    devices = )",
        (
            r'    preferred_over = frozenset("layer_norm")\n\1',
            r'    preferred_over = "layer_norm"\n\1',
            r'    preferred_over = ["layer_norm"]\n\1',
        ),
        also=("preferred-over-unknown-key", "redundant-preference"),
    ),
    Slip(
        "undeclared-overlap",
        ACME,
        r"    @classmethod\n    def refusal.*?super\(\)\.refusal\(call\)\n\n",
        ("",),
        more=((ACME, r'"cpu"', '"cuda"'),),
        also=("device-facts-missing",),
        elsewhere=True,
    ),
    Slip(
        "supported-archs-form",
        KERNELS,
        r"^(    supported_archs[^=\n]* = )\[[^\n]*\]\n",
        (r"\1[80, 80, 90]\n", r"\1(90)\n", r"\1[9.0]\n", r"\1[]\n", r'\1["90"]\n'),
    ),
    Slip(
        "archs-need-one-device",
        KERNELS,
        r"^(    supported_archs[^=\n]* = )",
        (r'    devices = frozenset({"cuda", "cpu"})\n\1',),
        elsewhere=True,
        also=("device-facts-missing", "undeclared-overlap"),
    ),
    Slip("devices-form", ACME, r'frozenset\(\{"cpu"\}\)', ('"cpu"', '["cpu"]', 'frozenset("cpu")')),
)
