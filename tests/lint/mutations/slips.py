"""The slips, one row or more per rule. A rule that is added is covered by adding a row."""

from mutants import Slip

__all__ = ["SLIPS"]

KERNELS = "*/kernels/*/*.py"
ACME = "docs/examples/*/_kernels.py"
ANY_KERNEL = "*kernel*/*.py"
GENERATED = "*/kernels/family*/kernel*.py"
SPECS = "*/kernels/*/call_spec.py"
OPS = "*/ops/*/*.py"
REGISTERING = "docs/examples/*/tileops_acme/__init__.py"

ENTRY = r"        identity = \(([^\n]*)\)\n        return identity, lambda: cls\(\*identity\)\n"
REFUSES = r'(    def refusal\(cls, call[^\n]*\n        """[^\n]*"""\n)'
BEFORE_ENTRY = r"(    @classmethod\n    def entry_for\(cls, call)"
SPEC_FIELD = r"    n: [^\n]* = 0\n"
IMPORT_TORCH = (KERNELS, r"\A(\"\"\".*\"\"\"\n)", r"\1\nimport os\n")
ODD_CALL = (
    "import dataclasses as _d\n\nfrom tileops.call_spec import CallSpec as _C\n\n\n"
    "@_d.dataclass(frozen=True)\nclass OddCall(_C):\n    odd: int = 0\n\n\n"
)


def refusal(*statements: str, head: str = "cls, call") -> str:
    """A refusal to put above ``entry_for``, in a class that has none."""
    body = "".join(f"        {line}\n" for line in statements)
    return f"    @classmethod\n    def refusal({head}):\n{body}\n\\\\1"


REGISTRATION = (
    Slip("kernel-key-snake-case", OPS, r'"(\w+)": (\w+Kernel)\b', (r'"\1Key": \2', r'"_\1": \2')),
    Slip(
        "registered-class-not-kernel", KERNELS, r"\((?:Row|)(?:Norm)?Kernel, (\w+FwdInterface)\)",
        (r"(\1)",),
        also=("interface-name", "interface-forward-abstract", "interface-docstring",
              "interface-without-implementation", "interface-request"),
        elsewhere=True,
    ),
    Slip(
        "registered-class-without-interface", KERNELS, r"\((\w*Kernel), \w+FwdInterface\)", (r"(\1)",),
        also=("interface-without-implementation",), elsewhere=True,
    ),
    Slip(
        "interface-without-implementation", KERNELS, r"\((\w*Kernel), \w+FwdInterface\)", (r"(\1)",),
        also=("registered-class-without-interface",), elsewhere=True,
    ),
    Slip(
        "op-without-interfaces", OPS, r"^    interfaces[^=\n]*= \{[^}]*\}\n", ("",),
        also=("unknown-interface-key",),
    ),
    Slip(
        "duplicate-mapping-key", OPS, r'("\w+": \w+Kernel)\b', (r"\1, \1",),
    ),
    Slip(
        "unknown-interface-key", OPS, r'return \(\("(\w+)", call\),\)', (r'return (("\1s", call),)',),
    ),
    Slip("unknown-interface-key", OPS, r'kernel_for\("(\w+)"', (r'kernel_for("\1_"',)),
    Slip("register-unknown-op", REGISTERING, r'"LayerNormFwdOp", "acme', (r'"LayerNormOp", "acme',)),
    Slip(
        "register-duplicate-key", REGISTERING, r'"acme_layer_norm_short_rows"', ('"layer_norm"',),
        also=("preferred-over-unknown-key",),
    ),
    Slip(
        "register-in-function", REGISTERING, r"^(register_kernel_type\([^\n]*)",
        (r"def later():\n    \1\n\n\nlater()",),
    ),
    Slip(
        "entry-point-module-missing", "docs/examples/*/pyproject.toml", r'"tileops_acme"\n',
        ('"tileops_acmee"\n',),
    ),
    Slip(
        "target-without-builder", REGISTERING, r"\Z",
        ('\nregister_detector(target="acmee", detect=lambda device: False)\n',),
        more=((REGISTERING, r"import (register_device_facts)", r"import register_detector, \1"),),
    ),
    Slip(
        "build-kernel-signature", "docs/examples/*/_target.py", r"    bias: TensorSpec \| None,\n    \*,",
        ("    *,",), elsewhere=True,
    ),
    Slip("build-at-import", REGISTERING, r"\Z", ("\nBUILT = ShortRowsLayerNorm(64, 1e-5)\n",)),
    Slip(
        "device-facts-missing", REGISTERING, r"^register_device_facts\([^\n]*\n", ("",), elsewhere=True
    ),
    Slip(
        "separate-key-mapping", OPS, r"^(class \w+\(Op\):\n)([^@]*?)^(    kernel_types[^=\n]*= )(\{[^}]*\})",
        (r"\1\2\3\4\n    KEYS = \4",),
    ),
)

ENTRIES = (
    Slip("entry-for-not-classmethod", ANY_KERNEL, r"    @classmethod\n(    def (?:entry_for|refusal)\(cls, call)", (r"\1", r"    @staticmethod\n\1")),
    Slip("entry-for-shape", ANY_KERNEL, ENTRY, ("        return None\n", "        return (\\1), 1\n", "        return (\\1), lambda: cls(\\1), 0\n")),
    Slip("entry-for-eager-build", ANY_KERNEL, r"return identity, lambda: cls\(\*identity\)", ("return identity, cls(*identity)",)),
    Slip("build-identity-unhashable", ANY_KERNEL, ENTRY, (
        "        return [\\1], lambda: cls(\\1)\n", "        identity = [\\1]\n        return identity, lambda: cls(*identity)\n", "        return {\\1}, lambda: cls(\\1)\n")),
    Slip("build-identity-has-tensor", ANY_KERNEL, ENTRY, (
        "        return (\\1, id(call)), lambda: cls(\\1)\n", "        return (\\1, call.n.data_ptr()), lambda: cls(\\1)\n")),
    Slip("tuning-in-factory", ANY_KERNEL, r"return identity, lambda: cls\(\*identity\)", (
        "return identity, lambda: cls(*identity).request_tune()",)),
    Slip("factory-late-binding", ANY_KERNEL, ENTRY, (
        "        identity = (\\1)\n        build = lambda: cls(*identity)\n        identity = (*identity, 0)\n        return identity, build\n",)),
    Slip("forward-signature", ANY_KERNEL, r"def forward\(self, x: torch\.Tensor, (?:\w+: torch\.Tensor, )*?(\w+: torch\.Tensor)\)", (
        "def forward(self)", "def forward(self, x: torch.Tensor, *, \\1)", "def forward(self, \\1)", ), equivalent={"@abstractmethod": "the interface's own"}),
    Slip("missing-abstract-method", ANY_KERNEL, r"    def forward(\(self, x: torch\.Tensor, [^)]*\)[^\n]*\n        \"\"\"(?:Normalize|Add|Run)[^\n]*\"\"\"\n)", (r"    def forwards\1",), elsewhere=True),
    Slip("cached-method", ANY_KERNEL, r"^    def (forward|default_config)\(self", (r"    @__import__('functools').cache\n    def \1(self",)),
)


def omissions(count: int) -> tuple[str, ...]:
    """The entries of *count* facts that leave one out, with the constructor called in full."""
    names = [f"\\{i + 1}" for i in range(count)]
    made: list[str] = []
    for left in range(count):
        kept = ", ".join(name for i, name in enumerate(names) if i != left)
        full = ", ".join(names)
        made.append(f"        return ({kept},), lambda: cls({full})\n")
        made.append(f"        identity = ({kept},)\n        return identity, lambda: cls(*identity, {names[left]})\n")
        made.append(f"        taken = {names[left]}\n        return ({kept},), lambda: cls({full.replace(names[left], 'taken')})\n")
    return tuple(made)


def entry_of(count: int) -> str:
    """The pattern of an entry of that many facts."""
    facts = ", ".join([r"(call\.\w+)"] * count)
    return rf"        identity = \({facts}\)\n        return identity, lambda: cls\(\*identity\)\n"


FLOW = (
    *(Slip("build-identity-omits-fact", ANY_KERNEL, entry_of(n), omissions(n), flow=True) for n in (2, 3, 4)),
    Slip("refusal-device-query", ANY_KERNEL, REFUSES, (
        r"\1        if torch.cuda.get_device_properties(0).multi_processor_count < 8:\n            return 'serves boards of 8 multiprocessors'\n",
        r"\1        import os\n        if os.environ.get('FAST'):\n            return 'serves slow runs'\n",
        r"\1        if torch.cuda.current_device():\n            return 'serves device 0'\n",
    ), flow=True),
    Slip("refusal-device-query", ANY_KERNEL, BEFORE_ENTRY, (
        refusal("if torch.cuda.device_count() > 1:", "    return 'serves one board'", "return super().refusal(call)"),
        "    @classmethod\n    def boards(cls):\n        return torch.cuda.device_count()\n\n" + refusal(
            "if cls.boards() > 1:", "    return 'serves one board'", "return super().refusal(call)"),
    ), flow=True),
    Slip("refusal-drops-base-limits", "src/tileops/kernels/norm/*_norm*.py", r"^(class \w+\(RowNormKernel, \w+\):\n    \"\"\"[^\n]*\"\"\"\n)", tuple(
        r"\1\n    @classmethod\n    def refusal(cls, call):\n" + body for body in (
            "        return None\n",
            "        if call.n > 9:\n            return 'serves n up to 9'\n",
            "        return None if call.n < 9 else 'serves n below 9'\n",
            "        return 'serves n below 9' if call.n > 9 else None\n",
            "        reason = None\n        if call.n > 9:\n            reason = 'serves n up to 9'\n        return reason\n",
            "        try:\n            return cls.limits(call)\n        except ValueError:\n            return None\n",
            "        for limit in (1, 2):\n            if call.n == limit:\n                return None\n        return super().refusal(call)\n",
        )),
        more=(("src/tileops/kernels/norm/row_norm.py", r"(    @classmethod\n    def entry_for\(cls, call)", refusal("return None if call.n else 'serves rows that are not empty'")),),
        flow=True,
    ),
)

REFUSALS = (
    Slip("refusal-super-missing", ANY_KERNEL, r"return super\(\)\.refusal\(call\)", ("return None",)),
    Slip("refusal-signature", ANY_KERNEL, r"def refusal\(cls, call(: \w+)?\)", (r"def refusal(cls, call\1, extra)", r"def refusal(cls, *, call\1)", "def refusal(cls)", r"async def refusal(cls, call\1)"), also=("refusal-return-type",)),
    Slip("refusal-return-type", ANY_KERNEL, r"return super\(\)\.refusal\(call\)", ("return False", 'return ""', "return call.n > 4", "return 0", "return (call.n, 1)")),
    Slip("refusal-reads-tensor", ANY_KERNEL, REFUSES, (r"\1        if call.n.item() > 4:\n            return 'serves n up to 4'\n", r"\1        if call.n.tolist():\n            return 'serves nothing'\n",)),
    Slip("refusal-side-effect", ANY_KERNEL, REFUSES, (r"\1        cls.seen = call\n", r"\1        print(call)\n", r"\1        call.n = 4\n", r"\1        global SEEN\n        SEEN = call.n\n")),
    Slip("unknown-call-fact", ANY_KERNEL, r"\bcall\.n\b(?=[,\s)])", ("call.nn", "call.width"), also=("build-identity-omits-fact",)),
    Slip("refusal-annotation-mismatch", ANY_KERNEL, r"^(class \w+\((?:Kernel|RowNormKernel), \w+\):\n(?:(?!^class).)*?def refusal\(cls, call): \w+", (r"\1: OddCall",), more=((ANY_KERNEL, r"^(class \w+\((?:Kernel|RowNormKernel), )", ODD_CALL + r"\1"),), also=("call-spec-unread-fact", "contract-placement")),
    Slip("refusal-generic-reason", ANY_KERNEL, r"return f\"serves[^\n]*\"\n", ('return "does not serve this call"\n',)),
    Slip("refusal-reason-compared", ANY_KERNEL, REFUSES, (r"\1        if super().refusal(call) == 'serves short rows':\n            return None\n",)),
    Slip("dtype-compared-to-string", ANY_KERNEL, REFUSES, (r"\1        if call.dtype == 'float16':\n            return 'serves bfloat16'\n", r"\1        if str(call.dtype) != 'torch.float16':\n            return 'serves float16'\n")),
    Slip("refusal-excludes-sibling", ACME, REFUSES, (
        r"\1        if LayerNormKernel.refusal(call) is None:\n            return 'yields to layer_norm'\n",
    ), more=((ACME, r"^(from tileops\.kernels\.norm\.call_spec)", r"from tileops.kernels.norm.layer_norm import LayerNormKernel\n\1"),)),
    Slip("misplaced-shared-check", GENERATED, REFUSES, (r"\1        if call.m > 4 and call.n < 8 and call.k == 2:\n            return 'serves something else'\n",), more=((GENERATED, r"(        if call\.n % 8:\n)", r"        if call.m > 4 and call.n < 8 and call.k == 2:\n            return 'serves something else'\n\1"),)),
)

PRECEDENCE = (
    Slip("several-general", GENERATED, r"    supported_archs = \[80, 89, 90\]\n", ("    general = True\n",)),
    Slip("several-general", ACME, r'(    devices = frozenset\(\{"cpu"\}\)\n)', (r"\1    general = True\n",), more=(("src/tileops/kernels/norm/layer_norm.py", r"(    supported_archs)", r"    general = True\n\1"),)),
    Slip("general-inherited", GENERATED, r"class (Family(\d+)Variant)(\d\d?)Kernel\(Kernel, (\w+)\)(?=:\n    \"\"\"[^\n]*\n\n    supported)", (r"class \1\3Kernel(General, \4)",), more=(
        (GENERATED, r"^(class Family(\d+)Variant(?:7)Kernel\(General)", r"from tileops.kernels.family\2.kernel0 import Family\2Variant0Kernel as General\n\n\n\1"),
    ), equivalent={f"Variant{n}Kernel": "another key's interface" for n in (8, 9, 10, 11, 12)}),
    Slip("redundant-declaration", ANY_KERNEL, r"^(    supported_archs = \[80, 89, 90\]\n|    devices = frozenset\(\{\"cpu\"\}\)\n)", (r"\1    general = False\n", r"\1    preferred_over = frozenset()\n")),
    Slip("general-with-preference", GENERATED, r"^    general = True\n(?=.*)", ('    general = True\n    preferred_over = frozenset({"family0_key7"})\n',), also=("preferred-over-unknown-key",)),
    Slip("redundant-preference", "*/kernels/family0/kernel7.py", r"^(    supported_archs = )", (r'    preferred_over = frozenset({"family0_key0"})\n\1',)),
    Slip("preferred-over-unknown-key", ANY_KERNEL, r"^(    supported_archs(?:: list\[int\])? = )", (r'    preferred_over = frozenset({"layer_nrm"})\n\1',), elsewhere=True),
    Slip("preferred-over-cycle", ACME, r"^(    devices = )", (r'    preferred_over = frozenset({"layer_norm"})\n\1',), more=(("src/tileops/kernels/norm/layer_norm.py", r"(    supported_archs)", r'    preferred_over = frozenset({"acme_layer_norm_short_rows"})\n\1'),)),
    Slip("preferred-over-type", ANY_KERNEL, r"^(    supported_archs(?:: list\[int\])? = |    devices = )", (r'    preferred_over = frozenset("layer_norm")\n\1', r'    preferred_over = "layer_norm"\n\1', r'    preferred_over = ["layer_norm"]\n\1'), also=("preferred-over-unknown-key", "redundant-preference")),
    Slip("undeclared-overlap", ACME, r"    @classmethod\n    def refusal.*?super\(\)\.refusal\(call\)\n\n", ("",), more=((ACME, r'"cpu"', '"cuda"'),), also=("device-facts-missing",)),
    Slip("supported-archs-form", ANY_KERNEL, r"^(    supported_archs[^=\n]* = )\[[^\n]*\]\n", (r"\1[80, 80, 90]\n", r"\1(90)\n", r"\1[9.0]\n", r"\1[]\n", r'\1["90"]\n')),
    Slip("archs-need-one-device", ANY_KERNEL, r"^(    supported_archs[^=\n]* = )", (r'    devices = frozenset({"cuda", "cpu"})\n\1',), elsewhere=True, also=("device-facts-missing",)),
    Slip("devices-form", ACME, r'frozenset\(\{"cpu"\}\)', ('"cpu"', '["cpu"]', 'frozenset("cpu")')),
)

CONTRACT = (
    Slip("interface-name", SPECS, r"class (\w+)FwdInterface\(KernelInterface\)", (r"class \1FwdWideInterface(KernelInterface)", r"class \1Interface(KernelInterface)", r"class \1FwdTrainFwdInterface(KernelInterface)"), more=(("*", r"\bNOTHING\b", ""),), also=("interface-without-implementation", "registered-class-without-interface", "call-spec-unread-fact", "missing-abstract-method", "contract-placement", "unknown-call-fact")),
    Slip("call-spec-not-frozen", SPECS, r"dataclass\(frozen=True\)", ("dataclass", "dataclass()", "dataclass(frozen=False)")),
    Slip("call-spec-mutable-field", SPECS, r"^    (n|dtype): [^\n]* = [^\n]*\n", (r"    \1: list[int] = None\n", r"    \1: torch.Tensor = None\n", r"    \1: dict[str, int] = dataclasses.field(default_factory=dict)\n")),
    Slip("call-spec-field-without-default", SPECS, r"^    (n|dtype|eps): ([^\n]*) = [^\n]*\n", (r"    \1: \2\n",)),
    Slip("call-spec-unannotated-field", SPECS, r"^    (n|eps): [^\n]* = ([^\n]*)\n", (r"    \1 = \2\n",), also=("call-spec-unknown-field", "unknown-call-fact", "redundant-declaration")),
    Slip("call-spec-redeclares-device-fact", SPECS, r"^(    n: )", (r"    arch: int = 0\n\1", r"    smem_budget: int | None = None\n\1")),
    Slip("call-spec-policy-field", SPECS, r"^(    n: )", (r"    autotune: bool = False\n\1", r"    priority: int = 0\n\1"), also=("call-spec-unread-fact",)),
    Slip("call-spec-unread-fact", SPECS, r"^(    n: )", (r"    zeta_width: int = 0\n\1",)),
    Slip("interface-request", SPECS, r"^    request = \w+\n", ("", "    request = int\n"), also=("call-spec-unread-fact",)),
    Slip("interface-forward-abstract", SPECS, r"    @abstractmethod\n(?=    def forward)", ("",)),
    Slip("interface-forward-abstract", SPECS, r"def forward\(", ("def forwards(",), also=("forward-signature", "missing-abstract-method")),
    Slip("interface-docstring", SPECS, r'^(class \w+Interface\(KernelInterface\):\n)    """[^\n]*"""\n', (r"\1",)),
    Slip("interface-docstring", SPECS, r"^        Returns:\n[^\"]*", ("",)),
    Slip("contract-placement", "src/tileops/kernels/norm/layer_norm.py", r"\Z", ("\n\nclass StrayFwdInterface(LayerNormFwdInterface):\n    \"\"\"Rows.\"\"\"\n",), more=(("src/tileops/kernels/norm/*_rms_norm.py", r"^(class \w+\(RowNormKernel)", r"from tileops.kernels.norm.layer_norm import StrayFwdInterface\n\n\n\1, StrayFwdInterface"),), also=("missing-abstract-method", "forward-signature")),
)

USES = (
    Slip("op-overrides-entry-for", OPS, r"^(    def __init__\(self)", (r"    def entry_for(self, interface, call):\n        return super().entry_for(interface, call)\n\n\1",)),
    Slip("op-kernel-cache", "*/ops/family*/*.py", r"return (self\.kernel_for\([^\n]*?call\))\(", (r"self.kept = \1\n        return self.kept(",)),
    Slip("op-constructs-kernel", "src/tileops/ops/norm/*.py", r"import (\w+Kernel)\n(.*?)^(        call = LayerNormCall\()", (r"import \1\n\2        \1(1, 2.0, None)\n\3",)),
    Slip("value-from-implementation", OPS, r"^(        call = \w+Call\()", (r"        self.kernel_types['layer_norm'].size(self)\n\1",)),
    Slip("entry-method-not-in-interface", "*/ops/family*/*.py", r"return (self\.kernel_for\([^\n]*?call\))\(", (r"return \1.warm(",)),
    Slip("kernel-for-states-device-fact", OPS, r"^(        call = \w+Call\(\s*)", (r"\1arch=90, ", r"\1sm_count=1, ")),
    Slip("call-spec-unknown-field", OPS, r"\bn=", ("nn=",)),
    Slip("call-spec-mutable-argument", OPS, r"eps=([^\n]*?)([,)]\s*dtype|,\n|, causal)", (r"eps=[\1]\2", r"eps=list(\1)\2")),
    Slip("call-spec-wrong-request", OPS, r"^        call = \w+Call\((?:(?!^    def).)*?^(        return )", (r"        call = OddCall(odd=1)\n\1",), more=((OPS, r"^(class \w+Op\(Op\):)", ODD_CALL + r"\1"),), also=("call-spec-unread-fact", "contract-placement")),
    Slip("dispatch-test-device-facts", "tests/ops/family*/*.py", r"arch=90, sm_count=132, ", ("",)),
    Slip("dispatch-test-raises-match", "tests/ops/*.py", r"(pytest\.raises\(\w+Error), match=[^\n]*?\)(?=:\n[^\n]*key_for| as caught:\n[^\n]*key_for)", (r"\1)",)),
    Slip("contiguity-not-enforced", "*/ops/family*/*.py", r"x\.contiguous\(\)", ("x",)),
)

SUPPRESSIONS = (
    Slip("unused-ignore", KERNELS, r"^(class \w+\([^\n]*\):)$", (r"\1  # tileops: ignore[interface-name] -- none",)),
    Slip("unknown-ignore", KERNELS, r"^(class \w+\([^\n]*\):)$", (r"\1  # tileops: ignore[interface-nam]",)),
    Slip("syntax-error", KERNELS, r"^class (\w+)\(", (r"class \1((",), elsewhere=True),
)

SLIPS = (*REGISTRATION, *ENTRIES, *FLOW, *REFUSALS, *PRECEDENCE, *CONTRACT, *USES, *SUPPRESSIONS)
