"""The rule `factory-late-binding`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import BodyRule, Report
from tileops.lint.facts import Note
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    from tileops.lint._body import Body

_CLASS = "class AKernel(Kernel):\n    @classmethod\n    def entry_for(cls, call):\n"


def _message(name: str) -> str:
    return (
        f"the factory of AKernel.entry_for reads {name} when it runs, and {name} changes after the "
        f"factory is made, so it builds for another value than its identity states; bind it at "
        f"once, as in lambda {name}={name}: ..."
    )


class FactoryLateBinding(BodyRule):
    """A factory does not read a local that changes after the factory is made.

    A lambda or a local function sees the value a local has when it runs. Flagged are loop
    variables, locals bound again and containers changed later, where that can still happen once
    the factory exists.

    Why:
        The identity is made now and the factory runs later. When a local has changed in between,
        the kernel is built for a value its identity does not state, and is then found under it.

    Limits:
        Only ``entry_for`` is looked at, and only functions that are kept: those called on the spot
        or given to a call are no factories. A value bound as a default of the lambda is safe.
    """

    id = "factory-late-binding"
    severity = Severity.ERROR
    methods = frozenset({"entry_for"})
    kinds = frozenset({Kind.KERNEL, Kind.IMPLEMENTATION})

    VALID = (
        Valid(
            "returned at once from a loop",
            _CLASS + "        for tile in (64, 32):\n            if call.n % tile == 0:\n"
            "                return (call.n, tile), lambda: cls(tile)\n"
            "        tile = 16\n        return (call.n, tile), lambda: cls(tile)\n",
        ),
        Valid(
            "bound as a default",
            _CLASS + "        factory = None\n        for tile in (64, 32):\n"
            "            factory = lambda tile=tile: cls(tile)\n        return call, factory\n",
        ),
        Valid(
            "left by break, and bound in another branch",
            _CLASS + "        for tile in (64, 32):\n            if call.n % tile == 0:\n"
            "                factory = lambda: cls(tile)\n                break\n"
            "        else:\n            tile = 16\n            factory = lambda: cls(tile)\n"
            "        if call.k:\n            factory = lambda: cls(tile)\n"
            "        else:\n            factory = cls\n        return call, factory\n",
        ),
        Valid(
            "a key function that is called at once",
            _CLASS + "        for n in (64, 32):\n"
            "            best = min(call.sizes, key=lambda size: abs(size - n))\n"
            "        return best, lambda: cls(best)\n",
        ),
        Valid(
            "a local function that is only called",
            _CLASS + "        limit = 4\n        fits = lambda n: n < limit\n"
            "        small = fits(call.n)\n        limit = 8\n"
            "        return (small, limit), lambda: cls(small)\n",
        ),
        Valid(
            "suppressed",
            _CLASS + "        tile = 64\n"
            "        factory = lambda: cls(tile)  # tileops: ignore[factory-late-binding]\n"
            "        tile = 32\n        return call, factory\n",
        ),
    )
    INVALID = (
        Invalid(
            "a loop variable",
            _CLASS + "        for tile in (64, 32):\n            if call.n % tile == 0:\n"
            "                factory = lambda: cls([|tile|])\n        return call, factory\n",
            _message("tile"),
        ),
        Invalid(
            "bound again",
            _CLASS + "        tile = 64\n        factory = lambda: cls(call.n, [|tile|])\n"
            "        if call.n < 64:\n            tile = 32\n"
            "        return (call, tile), factory\n",
            _message("tile"),
        ),
        Invalid(
            "a container changed later",
            _CLASS + "        args = [call.n]\n\n        def build():\n"
            "            return cls(*[|args|])\n\n"
            "        args.append(call.k)\n        return tuple(args), build\n",
            _message("args"),
        ),
        Invalid(
            "an item set later, and a sum",
            _CLASS + "        args, n = {}, call.n\n"
            "        entry = (call.n, lambda: cls([|n|], **[|args|]))\n"
            "        args['k'] = call.k\n        n += 1\n        return entry\n",
            (_message("n"), _message("args")),
        ),
    )

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note the captured locals that can change once the factory exists."""
        import libcst as cst

        from tileops.lint._late import late_reads

        if len(body.of(cst.Lambda)) + len(body.of(cst.FunctionDef)) > 1:
            for node in late_reads(body.function):
                yield body.note(self.id, node, name=node.value)

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report the note: the class is a kernel."""
        name = note.data["name"]
        message = (
            f"the factory of {owner.name}.entry_for reads {name} when it runs, and {name} changes "
            "after the factory is made, so it builds for another value than its identity states; "
            f"bind it at once, as in lambda {name}={name}: ..."
        )
        symbol = f"{owner.name}.entry_for"
        yield self.report(owner.module, note.span, message, symbol=symbol)
