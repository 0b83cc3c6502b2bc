"""The engine against a definition written here from the specification, by brute force."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from declared import PlainCall, candidate, table
from hypothesis import given, settings
from hypothesis import strategies as st

from tileops.errors import PreferenceCycleError
from tileops.selection import EdgeKind, Outcome, Stage, select, winner_of

KEYS = "abcdef"


@dataclass(frozen=True)
class Declared:
    """What one key declares; ``refuses`` is what its refusal returns, or raises."""

    devices: frozenset[str]
    archs: frozenset[int] | None
    over: frozenset[str]
    general: bool
    refuses: str | None
    raises: bool

    def candidate(self, key: str):
        refuses = ArithmeticError(key) if self.raises else self.refuses
        return candidate(
            key,
            devices=self.devices,
            archs=self.archs,
            general=self.general,
            over=self.over,
            refuses=refuses,
        )


@st.composite
def declarations(draw, raising: bool = True) -> Mapping[str, Declared]:
    """Draw up to six keys whose preferences are acyclic, in an order that tells nothing."""
    order = draw(st.permutations(KEYS[: draw(st.integers(0, 6))]))
    general = draw(st.sampled_from([None, *order]))
    made = {}
    for place, key in enumerate(order):
        # A preference points only to a later key of the drawn order, so no cycle arises.
        over = draw(st.sets(st.sampled_from(order[place + 1 :]))) if order[place + 1 :] else set()
        made[key] = Declared(
            devices=draw(st.sampled_from([{"cuda"}, {"cuda"}, {"acme"}, {"acme", "cuda"}, set()])),
            archs=draw(st.sampled_from([None, None, frozenset({80}), frozenset({80, 90})])),
            over=frozenset() if key == general else frozenset(over),
            general=key == general,
            refuses=draw(st.sampled_from([None, None, None, "no"])),
            raises=raising and draw(st.integers(0, 15)) == 0,
        )
    return {key: made[key] for key in draw(st.permutations(order))}


calls = st.builds(
    PlainCall,
    device_type=st.sampled_from(["cuda", "cuda", "cuda", "acme", None]),
    arch=st.sampled_from([80, 90, None]),
)


def available(one: Declared, call: PlainCall) -> bool:
    return call.device_type in one.devices and (one.archs is None or call.arch in one.archs)


def above(keys: Mapping[str, Declared]) -> set[tuple[str, str]]:
    """Return the pairs (winner, loser): the preferences closed, and everything over the general."""
    pairs = {(key, other) for key, one in keys.items() for other in one.over}
    while True:
        longer = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
        if not longer:
            break
        pairs |= longer
    return pairs | {(k, g) for g, one in keys.items() if one.general for k in keys if k != g}


def expected(keys: Mapping[str, Declared], call: PlainCall) -> tuple[Outcome, str | None]:
    """Decide by the definition: the one applicable key that no applicable key outranks."""
    here = [key for key, one in keys.items() if available(one, call)]
    if any(keys[key].raises for key in here):
        return Outcome.DEFECTIVE, None
    applicable = [key for key in here if keys[key].refuses is None]
    pairs = above(keys)
    best = [k for k in applicable if not any((other, k) in pairs for other in applicable)]
    if len(best) == 1:
        return Outcome.SELECTED, best[0]
    if best:
        return Outcome.AMBIGUOUS, None
    runs_here = any(call.device_type in one.devices for one in keys.values())
    return (Outcome.UNSERVED if runs_here else Outcome.NO_DEVICE), None


def made_table(keys: Mapping[str, Declared]):
    return table(*(one.candidate(key) for key, one in keys.items()))


@settings(max_examples=400, deadline=None)
@given(declarations(), calls)
def test_outcome_is_the_definition(keys, call):
    """Outcome and winner are those of the definition, asked for with the verdicts or alone."""
    made = made_table(keys)
    selection, alone = select(made, call), winner_of(made, call)
    winner = selection.selected.key if selection.selected else None
    assert (selection.outcome, winner) == expected(keys, call)
    assert (alone.key if alone else None) == winner


@settings(max_examples=200, deadline=None)
@given(declarations(), calls)
def test_stages_are_the_definition(keys, call):
    """Every key's stage follows from its own declarations and the applicable keys above it."""
    selection = select(made_table(keys), call)
    pairs = above(keys)
    applicable = {
        k for k, one in keys.items() if available(one, call) and not one.raises and not one.refuses
    }
    for verdict in selection.verdicts:
        one = keys[verdict.key]
        winners = {other for other in applicable if (other, verdict.key) in pairs}
        if call.device_type not in one.devices:
            assert verdict.stage is Stage.DEVICE
        elif not available(one, call):
            assert verdict.stage is Stage.ARCH
        elif one.raises:
            assert verdict.stage is Stage.RAISED
        elif one.refuses:
            assert (verdict.stage, verdict.reason) == (Stage.REFUSED, one.refuses)
        elif winners:
            assert verdict.stage is Stage.OUTRANKED
            assert {edge.winner for edge in verdict.edges} == winners
        else:
            assert verdict.stage in (Stage.SELECTED, Stage.TIED)


@settings(max_examples=200, deadline=None)
@given(declarations())
def test_edges_are_preferences(keys):
    """An edge exists exactly where the definition has one, and its path consists of preferences."""
    precedence = made_table(keys).precedence
    edges = {(a, b): precedence.edge(a, b) for a in keys for b in keys}
    assert {pair for pair, edge in edges.items() if edge} == above(keys)
    for (winner, loser), edge in edges.items():
        if edge is None:
            continue
        assert (edge.winner, edge.loser) == (winner, loser)
        if edge.kind is EdgeKind.GENERAL:
            assert keys[loser].general
        else:
            assert all(b in keys[a].over for a, b in pairwise(edge.path))
            assert (edge.kind is EdgeKind.DIRECT) == (loser in keys[winner].over)


@settings(max_examples=200, deadline=None)
@given(declarations(), calls, st.randoms(use_true_random=False))
def test_permuting_the_candidates_changes_nothing(keys, call, random):
    """Outcome, winner and every key's verdict are the same in any order of declaration."""
    order = list(keys)
    random.shuffle(order)
    one, two = (select(made_table(k), call) for k in (keys, {key: keys[key] for key in order}))
    assert one.outcome is two.outcome

    def by_key(selection):
        return {v.key: (v.stage, frozenset(v.edges)) for v in selection.verdicts}

    assert by_key(one) == by_key(two)


@settings(max_examples=200, deadline=None)
@given(declarations(raising=False), calls, st.data())
def test_removing_a_key_that_does_not_apply_changes_no_outcome_with_a_winner(keys, call, data):
    """A key without preferences that is unavailable or refuses takes no part."""
    bystanders = [
        key
        for key, one in keys.items()
        if not one.over
        and not any(key in other.over for other in keys.values())
        and (one.refuses or not available(one, call))
    ]
    if not bystanders:
        return
    gone = data.draw(st.sampled_from(bystanders))
    before = select(made_table(keys), call)
    after = select(made_table({k: one for k, one in keys.items() if k != gone}), call)
    assert (before.selected and before.selected.key) == (after.selected and after.selected.key)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(2, 6).flatmap(
        lambda size: st.fixed_dictionaries(
            {key: st.sets(st.sampled_from(KEYS[:size]), max_size=2) for key in KEYS[:size]}
        )
    )
)
def test_tables_are_rejected_exactly_when_preferences_are_cyclic(over):
    """Stripping keys that no remaining key is preferred over leaves nothing, or a cycle."""
    over = {key: others - {key} for key, others in over.items()}
    remaining = dict(over)
    while free := [k for k in remaining if not any(k in others for others in remaining.values())]:
        for key in free:
            del remaining[key]
    try:
        table(*(candidate(key, over=others) for key, others in over.items()))
    except PreferenceCycleError as error:
        cycle = error.cycle.split(" -> ")
        assert remaining
        assert all(b in over[a] for a, b in pairwise(cycle))
        assert cycle[0] == cycle[-1]
    else:
        assert not remaining
