"""Slips in refusal."""

from mutants import Slip
from places import ACME, BEFORE_ENTRY, GENERATED, KERNELS, ODD_CALL, REFUSES, refusal

__all__ = ["REFUSALS", "REFUSAL_FLOW"]

REFUSAL_FLOW = (
    Slip(
        "refusal-device-query",
        KERNELS,
        REFUSES,
        (
            r"\1        if torch.cuda.get_device_properties(0).multi_processor_count < 8:\n            return 'serves boards of 8 multiprocessors'\n",
            r"\1        import os\n        if os.environ.get('FAST'):\n            return 'serves slow runs'\n",
            r"\1        if torch.cuda.get_device_properties(call.device).shared_memory_per_block_optin < call.n:\n            return 'serves rows that fit'\n",
            r"\1        if torch.cuda.current_device():\n            return 'serves device 0'\n",
        ),
        flow=True,
    ),
    Slip(
        "refusal-device-query",
        KERNELS,
        BEFORE_ENTRY,
        (
            refusal(
                "if torch.cuda.device_count() > 1:",
                "    return 'serves one board'",
                "return super().refusal(call)",
            ),
            "    @classmethod\n    def boards(cls):\n        return torch.cuda.device_count()\n\n"
            + refusal(
                "if cls.boards() > 1:",
                "    return 'serves one board'",
                "return super().refusal(call)",
            ),
        ),
        flow=True,
    ),
    Slip(
        "refusal-drops-base-limits",
        "src/tileops/kernels/norm/*_norm*.py",
        r"^(class \w+\(RowNormKernel, \w+\):\n    \"\"\"[^\n]*\"\"\"\n)",
        tuple(
            r"\1\n    @classmethod\n    def refusal(cls, call):\n" + body
            for body in (
                "        return None\n",
                "        if call.n > 9:\n            return 'serves n up to 9'\n",
                "        return None if call.n < 9 else 'serves n below 9'\n",
                "        return 'serves n below 9' if call.n > 9 else None\n",
                "        reason = None\n        if call.n > 9:\n            reason = 'serves n up to 9'\n        return reason\n",
                "        try:\n            return cls.limits(call)\n        except ValueError:\n            return None\n",
                "        for limit in (1, 2):\n            if call.n == limit:\n                return None\n        return super().refusal(call)\n",
            )
        ),
        more=(
            (
                "src/tileops/kernels/norm/row_norm.py",
                r"(    @classmethod\n    def entry_for\(cls, call)",
                refusal("return None if call.n else 'serves rows that are not empty'"),
            ),
        ),
        flow=True,
    ),
)

REFUSALS = (
    Slip("refusal-super-missing", KERNELS, r"return super\(\)\.refusal\(call\)", ("return None",)),
    Slip(
        "refusal-signature",
        KERNELS,
        r"def refusal\(cls, call(: \w+)?\)",
        (
            r"def refusal(cls, call\1, extra)",
            r"def refusal(cls, *, call\1)",
            r"def refusal(klass, call\1)",
            "def refusal(cls)",
            r"async def refusal(cls, call\1)",
        ),
        also=("refusal-return-type",),
    ),
    Slip(
        "refusal-return-type",
        KERNELS,
        r"return super\(\)\.refusal\(call\)",
        ("return False", 'return ""', "return call.n > 4", "return 0", "return (call.n, 1)"),
    ),
    Slip(
        "refusal-reads-tensor",
        KERNELS,
        REFUSES,
        (
            r"\1        if call.n.item() > 4:\n            return 'serves n up to 4'\n",
            r"\1        if call.n.tolist():\n            return 'serves nothing'\n",
        ),
    ),
    Slip(
        "refusal-side-effect",
        KERNELS,
        REFUSES,
        (
            r"\1        cls.seen = call\n",
            r"\1        print(call)\n",
            r"\1        call.n = 4\n",
            r"\1        global SEEN\n        SEEN = call.n\n",
        ),
    ),
    Slip(
        "unknown-call-fact",
        KERNELS,
        r"\bcall\.n\b(?=[,\s)])",
        ("call.nn", "call.width"),
        also=("build-identity-omits-fact",),
    ),
    Slip(
        "refusal-annotation-mismatch",
        KERNELS,
        r"^(class \w+\((?:Kernel|RowNormKernel), \w+\):\n(?:(?!^class).)*?def refusal\(cls, call): \w+",
        (r"\1: OddCall",),
        more=((KERNELS, r"^(class \w+\((?:Kernel|RowNormKernel), )", ODD_CALL + r"\1"),),
        also=("call-spec-unread-fact", "contract-placement"),
        elsewhere=True,
    ),
    Slip(
        "refusal-generic-reason",
        KERNELS,
        r"return f\"serves[^\n]*\"\n",
        ('return "does not serve this call"\n',),
    ),
    Slip(
        "refusal-reason-compared",
        KERNELS,
        REFUSES,
        (r"\1        if super().refusal(call) == 'serves short rows':\n            return None\n",),
    ),
    Slip(
        "dtype-compared-to-string",
        KERNELS,
        REFUSES,
        (
            r"\1        if call.dtype == 'float16':\n            return 'serves bfloat16'\n",
            r"\1        if str(call.dtype) != 'torch.float16':\n            return 'serves float16'\n",
        ),
    ),
    Slip(
        "refusal-excludes-sibling",
        ACME,
        REFUSES,
        (
            r"\1        if LayerNormKernel.refusal(call) is None:\n            return 'yields to layer_norm'\n",
        ),
        more=(
            (
                ACME,
                r"^(from tileops\.kernels\.norm\.call_spec)",
                r"from tileops.kernels.norm.layer_norm import LayerNormKernel\n\1",
            ),
        ),
    ),
    Slip(
        "misplaced-shared-check",
        GENERATED,
        REFUSES,
        (
            r"\1        if call.m > 4 and call.n < 8 and call.k == 2:\n            return 'serves something else'\n",
        ),
        more=(
            (
                GENERATED,
                r"(        if call\.n % 8:\n)",
                r"        if call.m > 4 and call.n < 8 and call.k == 2:\n            return 'serves something else'\n\1",
            ),
        ),
    ),
)
