"""The rule `interface-docstring-vague`."""

import re
from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Report, Rule
from tileops.lint._tensors import is_tensor
from tileops.lint.index import Kind, Project

# What a contract says of its tensors, and the words that can say it.
_ASPECTS = {
    "shape": r"shape|elements?\b|rows?\b|dims?\b|axes\b|axis\b|scalar|size|\[[^\]]*,|\([^)]*,",
    "dtype": r"dtype|float\d|bfloat\d|u?int\d|bool\b|precision|\bfp\d",
    "layout": r"contiguous|layout|strided?\b|row-major|column-major|packed|dense",
    "device": r"device|\bcpu\b|\bcuda\b|\bgpu\b",
    "what is written in place": r"in[ -]place|written|writes|overwrit|mutat|unchanged|modif",
}
_CLASS = (
    'class NormFwdInterface(KernelInterface):\n    """Normalize rows."""\n\n    @abstractmethod\n'
)
_DEF = "    def forward(self, x: torch.Tensor) -> torch.Tensor:\n"


class InterfaceDocstringVague(Rule):
    """The docstring of an interface's ``forward`` says everything a backend must know of a tensor.

    That is shape, dtype, layout, device, and what is written in place. Each may be said once for
    every tensor, and in the docstring of the class.

    Why:
        What the contract leaves open, one implementation takes for granted and the next does not.

    Limits:
        It looks for words that can say it, so a word used otherwise hides an omission. Interfaces
        of tests, and ones without tensor parameters, are not judged.
    """

    id = "interface-docstring-vague"
    severity = Severity.PEDANTIC

    VALID = (
        Valid(
            "said once for every tensor",
            _CLASS
            + _DEF
            + '        """Normalize each run of trailing elements; nothing is written in place.\n\n'
            "        Every tensor is contiguous on the call's device, in its dtype.\n"
            '        """\n',
        ),
        Valid(
            "some of it in the docstring of the class",
            _CLASS.replace("Normalize rows.", "Contiguous float16 rows on one device.")
            + _DEF
            + '        """Normalize *x* in place."""\n',
        ),
        Valid(
            "no tensors", _CLASS + '    def forward(self, n: int) -> int:\n        """Count."""\n'
        ),
        Valid("no docstring", _CLASS + "    def forward(self, x: torch.Tensor): ...\n"),
        Valid(
            "suppressed",
            _CLASS + "    # tileops: ignore[interface-docstring-vague] -- shown\n"
            "    def forward(self, x: torch.Tensor):\n"
            '        """Normalize."""\n',
        ),
    )
    INVALID = (
        Invalid(
            "no layout",
            _CLASS
            + _DEF.replace("forward", "[|forward|]")
            + '        """Normalize float16 *x* of shape (m, n) on its device in place."""\n',
            "the docstring of NormFwdInterface.forward does not say the layout of its tensors, so "
            "backends will differ in it; state it once for all or for each",
        ),
        Invalid(
            "neither device nor what is written",
            _CLASS
            + _DEF.replace("forward", "[|forward|]")
            + '        """Normalize contiguous elements of any dtype."""\n',
            "the docstring of NormFwdInterface.forward does not say the device of its tensors and "
            "what is written in place, so backends will differ in it; "
            "state it once for all or for each",
        ),
        Invalid(
            "nothing at all",
            _CLASS.replace("rows", "them")
            + _DEF.replace("forward", "[|forward|]")
            + '        """Normalize."""\n',
            "the docstring of NormFwdInterface.forward does not say the shape, dtype, layout and "
            "device of its tensors and what is written in place, so backends will differ in it; "
            "state it once for all or for each",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the aspects that no word of the docstrings can be about."""
        for node in project.of_kind(Kind.INTERFACE):
            method = node.facts.method("forward")
            if method is None or not method.docstring or node.module.is_test:
                continue
            params = method.params[1:]
            if not any(is_tensor(project, node.module, param.annotation) for param in params):
                continue
            text = f"{node.facts.docstring or ''}\n{method.docstring}".lower()
            missing = [name for name, words in _ASPECTS.items() if not re.search(words, text)]
            if missing:
                symbol = f"{node.name}.forward"
                message = (
                    f"the docstring of {symbol} does not say {_listed(missing)}, so backends will "
                    "differ in it; state it once for all or for each"
                )
                yield self.report(node.module, method.name_span, message, symbol=symbol)


def _listed(missing: list[str]) -> str:
    *facts, last = missing
    written = last == "what is written in place"
    if not written:
        facts.append(last)
    parts = [f"the {_joined(facts)} of its tensors"] if facts else []
    return " and ".join([*parts, last] if written else parts)


def _joined(names: list[str]) -> str:
    *head, last = names
    return f"{', '.join(head)} and {last}" if head else last
