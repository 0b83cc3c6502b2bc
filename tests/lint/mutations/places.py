"""Where slips are made: the files, what a site there looks like, and code to put in."""

OWN = "src/tileops/kernels/norm/*_norm*.py"
ACME = "docs/examples/*/_kernels.py"
GENERATED = "*/kernels/family*/kernel*.py"
SPECS = "*/kernels/*/call_spec.py"
OPS = "src/tileops/ops/*/*.py"
KERNELS = (OWN, ACME, GENERATED)
REGISTERING = "docs/examples/*/tileops_acme/__init__.py"

ENTRY = r"        identity = \(([^\n]*)\)\n        return identity, lambda: cls\(\*identity\)\n"
REFUSES = r'(    def refusal\(cls, call[^\n]*\n        """[^\n]*"""\n)'
BEFORE_ENTRY = r"(    @classmethod\n    def entry_for\(cls, call)"
SPEC_FIELD = r"    n: [^\n]* = 0\n"
ODD_CALL = (
    "import dataclasses as _d\n\nfrom tileops.call_spec import CallSpec as _C\n\n\n"
    "@_d.dataclass(frozen=True)\nclass OddCall(_C):\n    odd: int = 0\n\n\n"
)


def refusal(*statements: str, head: str = "cls, call") -> str:
    """A refusal to put above ``entry_for``, in a class that has none."""
    body = "".join(f"        {line}\n" for line in statements)
    return f"    @classmethod\n    def refusal({head}):\n{body}\n\\1"
