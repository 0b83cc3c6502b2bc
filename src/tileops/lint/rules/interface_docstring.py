"""The rule `interface-docstring`."""

import re
from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._dataclasses import unquoted
from tileops.lint._rule import Report, Rule
from tileops.lint._tensors import is_tensor
from tileops.lint.facts import FunctionFacts, Param
from tileops.lint.index import ClassNode, Kind, Project

_HEAD = 'class NormFwdInterface(KernelInterface):\n    """Normalize rows."""\n\n'
_FORWARD = (
    "    @abstractmethod\n"
    "    def forward(self, x: torch.Tensor, weight: torch.Tensor | None) -> torch.Tensor:\n"
)


class InterfaceDocstring(Rule):
    """A kernel interface and its ``forward`` are documented.

    The class has a docstring. That of ``forward`` names every tensor parameter, and says under
    ``Returns:`` what comes back.

    Why:
        A backend writes its implementation from this contract alone.

    Limits:
        A parameter counts as a tensor when its annotation says so. A name that the docstring of
        the class mentions counts as well. What is said of each tensor is judged by
        ``interface-docstring-vague``. Interfaces of tests are not judged.
    """

    id = "interface-docstring"
    severity = Severity.WARNING
    cross_file = False

    VALID = (
        Valid(
            "whole",
            _HEAD + _FORWARD + '        """Normalize *x*; scale by weight.\n\n'
            "        Returns:\n            A new tensor like *x*.\n"
            '        """\n',
        ),
        Valid(
            "nothing returned, parameters that are no tensors",
            _HEAD
            + "    @abstractmethod\n    def forward(self, x: 'torch.Tensor', n: int, y) -> None:\n"
            '        """Normalize *x* in place."""\n',
        ),
        Valid(
            "named in the docstring of the class",
            "class NormFwdInterface(KernelInterface):\n"
            '    """Normalize x, in rows of weight."""\n\n'
            + _FORWARD
            + '        """Run.\n\n        Returns:\n            A new tensor.\n        """\n',
        ),
        Valid("inherited", _HEAD.replace("rows", "runs") + "    request = CallSpec\n"),
        Valid(
            "in a test",
            {
                "tests/test_norm.py": (
                    "from tileops.backend import KernelInterface\n\n\n"
                    "class NormFwdInterface(KernelInterface):\n    def forward(self, x): ...\n"
                ),
            },
        ),
        Valid(
            "suppressed",
            "class NormFwdInterface(  # tileops: ignore[interface-docstring] -- shown\n"
            "    KernelInterface\n):\n    request = CallSpec\n",
        ),
    )
    INVALID = (
        Invalid(
            "no docstrings",
            "class [|NormFwdInterface|](KernelInterface):\n    @abstractmethod\n"
            "    def [|forward|](self, x): ...\n",
            (
                "NormFwdInterface has no docstring, and a backend works from it alone; "
                "say what it computes",
                "NormFwdInterface.forward has no docstring, and a backend works from it alone; "
                "say what it takes, writes and returns",
            ),
        ),
        Invalid(
            "a parameter that is not named",
            _HEAD
            + _FORWARD.replace("weight: torch.Tensor | None", "[|weight: torch.Tensor | None|]")
            + '        """Normalize *x*, which has no weights.\n\n'
            '        Returns:\n            A new tensor.\n        """\n',
            "the docstring of NormFwdInterface.forward does not mention weight; "
            "say its shape, dtype, layout and device",
        ),
        Invalid(
            "no word on the result",
            _HEAD
            + _FORWARD.replace("-> torch.Tensor", "-> [|torch.Tensor|]")
            + '        """Normalize *x* and scale by *weight*; returns: a new tensor."""\n',
            "the docstring of NormFwdInterface.forward has no section Returns:; "
            "say what comes back and whether it is new",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report what the docstrings of interfaces leave out."""
        for node in project.of_kind(Kind.INTERFACE):
            if node.module.is_test:
                continue
            if not (node.facts.docstring or "").strip():
                message = (
                    f"{node.name} has no docstring, and a backend works from it alone; "
                    "say what it computes"
                )
                yield self.report(node.module, node.facts.name_span, message, symbol=node.name)
            method = node.facts.method("forward")
            if method is not None:
                yield from self._forward(project, node, method)

    def _forward(
        self, project: Project, node: ClassNode, method: FunctionFacts
    ) -> Iterator[Report]:
        symbol = f"{node.name}.forward"
        docstring = method.docstring or ""
        if not docstring.strip():
            message = (
                f"{symbol} has no docstring, and a backend works from it alone; "
                "say what it takes, writes and returns"
            )
            yield self.report(node.module, method.name_span, message, symbol=symbol)
            return
        text = f"{node.facts.docstring or ''}\n{docstring}"
        for param in method.params[1:]:
            if is_tensor(project, node.module, param.annotation) and not _names(text, param):
                message = (
                    f"the docstring of {symbol} does not mention {param.name}; "
                    "say its shape, dtype, layout and device"
                )
                yield self.report(node.module, param.span, message, symbol=symbol)
        returned = method.returns
        if returned is None or unquoted(returned).kind == "none" or _says_what_returns(docstring):
            return
        message = (
            f"the docstring of {symbol} has no section Returns:; "
            "say what comes back and whether it is new"
        )
        yield self.report(node.module, returned.span, message, symbol=symbol)


def _names(text: str, param: Param) -> bool:
    return re.search(rf"(?<!\w){re.escape(param.name)}(?!\w)", text) is not None


def _says_what_returns(docstring: str) -> bool:
    return any(line.strip() == "Returns:" for line in docstring.splitlines())
