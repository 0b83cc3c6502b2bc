"""The audit proves what holds, and shows a confirmed call where something does not."""

from __future__ import annotations

from typing import Any

import pytest
from specified import (
    GQA,
    LAYER_NORM,
    AttentionCall,
    GemmCall,
    Kernels,
    LogarithmGemm,
    NarrowGemm,
    RaisingGemm,
    SkinnyGemm,
    SplitKGemm,
    TiledGemm,
    UndeclaredLongContextKernel,
    VectorLayerNorm,
    explored,
)

from tileops.introspect.audit import InterfaceAudit, Proof, audit_interface
from tileops.introspect.formula import member, read
from tileops.kernels.norm.call_spec import LayerNormCall
from tileops.selection import Outcome, Stage


def audit(spec: Any, **kernels: Any) -> InterfaceAudit:
    return audit_interface(explored(spec, **kernels))


class SkinnyOverNarrowGemm(SkinnyGemm):
    preferred_over = frozenset({"narrow"})


class TallGemm(TiledGemm):
    general = False

    @classmethod
    def refusal(cls, call: GemmCall) -> str | None:
        return None if call.k < 64 and call.m > 64 else "serves tall products"


class SplitKOverTallGemm(SplitKGemm):
    preferred_over = frozenset({"tall"})


def test_the_specified_gqa_kernels_are_proved_unambiguous_everywhere() -> None:
    """Three keys, one declared preference, one general: no possible call is ambiguous."""
    found = audit(AttentionCall, **GQA)

    assert {one.place: one.unambiguous for one in found.places} == dict.fromkeys(
        ["SM80", "SM86", "SM89", "SM90", "SM100"], Proof.PROVED
    )
    assert {one.place: one.available for one in found.places} == {
        "SM80": ("decode", "long_context"),
        "SM86": (),
        "SM89": ("decode", "long_context"),
        "SM90": ("decode", "bs1", "long_context"),
        "SM100": (),
    }
    assert (found.ambiguities, found.dead, found.idle, found.raising) == ((), (), (), ())
    assert found.conclusive


def test_unserved_calls_are_said_as_regions_with_commands() -> None:
    """What nobody serves is said by the facts that matter, where some key is available."""
    found = audit(AttentionCall, **GQA)

    assert [(one.region.text(), one.places) for one in found.gaps] == [
        ("paged", ("SM80", "SM89", "SM90")),
        ("seqlen_q != 1", ("SM80", "SM89", "SM90")),
    ]
    assert not found.more_gaps
    for gap in found.gaps:
        assert gap.region.witness.selection.outcome is Outcome.UNSERVED
    command = found.gaps[0].region.witness.selection.command()
    assert command is not None
    assert command.startswith("tileops explain ExampleFwdOp --interface example --batch 1")
    assert command.endswith("--paged --arch 80 --sm-count 108 --smem-budget 166912")


def test_an_accepted_gap_is_no_finding() -> None:
    """Calls that may stay unserved are listed with the reason and do not count."""
    found = audit_interface(
        explored(AttentionCall, **GQA),
        {"paged caches have an op of their own": member("paged", [True])},
    )

    assert [(one.region.text(), one.accepted) for one in found.gaps] == [
        ("seqlen_q != 1", None),
        ("paged", "paged caches have an op of their own"),
    ]
    assert not found.clean
    assert audit_interface(
        explored(AttentionCall, **GQA), {"no": read("(or (in paged true) (ne seqlen_q 1))")}
    ).clean


def test_an_accepted_gap_states_the_closest_bound_alone() -> None:
    """What was accepted is wider than what is unserved now: of two bounds one is said."""
    few_rows = explored(GemmCall, skinny=SkinnyGemm, narrow=NarrowGemm)
    found = audit_interface(few_rows, {"many rows": read("(gt m 4)")})

    accepted = [one.region for one in found.gaps if one.accepted]
    assert [one.text() for one in accepted if "k" not in one.text()] == ["m > 16"]
    assert (read("(gt m 16)"),) in [one.conditions for one in accepted]


def test_a_removed_preference_is_found_with_the_line_that_settles_it() -> None:
    """Without its preference the long-context kernel ties with batch 1 on SM90, and only there."""
    found = audit(AttentionCall, **{**GQA, "long_context": UndeclaredLongContextKernel})
    (clash,) = found.ambiguities

    assert {clash.winner.key, clash.loser.key} == {"bs1", "long_context"}
    assert clash.places == ("SM90",)
    assert clash.remedy == f'preferred_over = frozenset({{"{clash.loser.key}"}})'
    (region,) = clash.regions
    assert region.witness.selection.outcome is Outcome.AMBIGUOUS
    assert region.witness.values["seqlen_kv"] == 1024
    proofs = {one.place: one.unambiguous for one in found.places}
    assert proofs["SM90"] is Proof.REFUTED
    assert proofs["SM80"] is Proof.PROVED


@pytest.mark.parametrize(
    ("spec", "kernels", "pair", "witness", "narrower"),
    [
        pytest.param(LayerNormCall, {**LAYER_NORM, "vector": VectorLayerNorm},
                     {"vector", "torch_short_rows"}, {"n": 4, "dtype": "float32"}, False,
                     id="two-backends-unaware-of-each-other"),
        pytest.param(GemmCall, {"tiled": TiledGemm, "split_k": SplitKGemm, "skinny": SkinnyGemm},
                     {"split_k", "skinny"}, {"m": 1, "n": 1, "k": 4096}, False,
                     id="two-special-shapes"),
        pytest.param(GemmCall, {"tiled": TiledGemm, "skinny": SkinnyGemm, "narrow": NarrowGemm},
                     {"narrow", "skinny"}, {"m": 1, "n": 1, "k": 8}, True,
                     id="one-inside-the-other"),
    ],
)  # fmt: skip
def test_ambiguous_calls_have_the_plainest_witness(
    spec: Any, kernels: Kernels, pair: set[str], witness: dict[str, Any], narrower: bool
) -> None:
    """Each undeclared overlap is shown by a call with the least numbers and default facts."""
    (clash,) = audit(spec, **kernels).ambiguities
    plainest = clash.regions[0].witness

    assert {clash.winner.key, clash.loser.key} == pair
    assert {name: plainest.values[name] for name in witness}.items() >= {
        name: value for name, value in witness.items() if name != "k"
    }.items()
    assert plainest.selection.outcome is Outcome.AMBIGUOUS
    assert clash.narrower is narrower
    if narrower:
        assert clash.winner.key == "narrow"


def test_a_key_that_is_never_selected_is_named_with_its_blockers() -> None:
    """A key inside a preferred one never wins; the preferred one blocks it."""
    found = audit(GemmCall, tiled=TiledGemm, narrow=NarrowGemm, skinny=SkinnyOverNarrowGemm)

    assert [(one.candidate.key, one.applies, one.blockers) for one in found.dead] == [
        ("narrow", True, ("skinny",))
    ]
    witness = found.dead[0].witness
    assert witness is not None
    stages = {one.key: one.stage for one in witness.selection.verdicts}
    assert stages["narrow"] is Stage.OUTRANKED
    assert witness.selection.outcome is Outcome.SELECTED


def test_an_architecture_that_lost_its_last_key_is_unserved() -> None:
    """Where an inventory has a key and none is available now, calls are unserved; else not asked.

    The keys are for SM80, SM89 and SM90, so nothing tells that SM86 was meant but an inventory.
    """
    served = {"only decoding": read("(or (in paged true) (ne seqlen_q 1))")}
    model = explored(AttentionCall, **GQA)
    (gap, *others) = audit_interface(model, served, member("arch", [86, 90])).gaps

    assert audit_interface(model, served, member("arch", [80, 90])).clean
    assert audit_interface(model, served).clean
    assert (gap.places, gap.accepted) == (("SM86",), None)
    assert all(one.accepted for one in others)
    assert gap.region.text().startswith("arch is 86")
    assert gap.region.witness.selection.outcome is Outcome.UNSERVED


def test_a_preference_between_keys_that_never_meet_is_idle() -> None:
    """Deep products and shallow ones share no call, so a preference between them says nothing."""
    found = audit(GemmCall, tiled=TiledGemm, split_k=SplitKOverTallGemm, tall=TallGemm)

    assert [(one.winner.key, one.loser) for one in found.idle] == [("split_k", "tall")]


def test_a_refusal_that_can_raise_is_found() -> None:
    """Division by a fact that may be 0 is a finding, with the call that divides by it."""
    found = audit(GemmCall, tiled=TiledGemm, tall=RaisingGemm)
    (raising,) = found.raising

    assert raising.candidate.key == "tall"
    assert raising.region.text() == "k == 0"
    assert "ZeroDivisionError" in raising.problem
    assert raising.region.witness.selection.outcome is Outcome.DEFECTIVE


def test_code_that_is_not_modelled_leaves_doubt_unless_a_call_refutes() -> None:
    """What depends on unmodelled code is refuted by a tried call, or said not to be proved."""
    refuted = audit(GemmCall, tiled=TiledGemm, skinny=SkinnyGemm, log=LogarithmGemm)
    (clash,) = refuted.ambiguities
    assert clash.regions[0].witness.selection.outcome is Outcome.AMBIGUOUS

    class NeverLogarithmGemm(LogarithmGemm):
        @classmethod
        def refusal(cls, call: GemmCall) -> str | None:
            return super().refusal(call) or "never serves"

    doubtful = audit(GemmCall, tiled=TiledGemm, skinny=SkinnyGemm, log=NeverLogarithmGemm)
    claims = {one.claim: one for one in doubtful.doubts}
    doubt = claims["skinny and log never tie"]
    assert not doubtful.conclusive
    assert "math.log2" in str(doubt.reasons[0])
    assert "specified.py:" in str(doubt.reasons[0])
    assert doubt.calls >= 1000
    assert {one.unambiguous for one in doubtful.places} == {Proof.NOT_PROVED}


def test_unmodelled_code_that_cannot_matter_leaves_no_doubt() -> None:
    """The general key outranks nothing, so beside it alone unmodelled code cannot tie."""
    found = audit(GemmCall, tiled=TiledGemm, log=LogarithmGemm)

    assert {one.unambiguous for one in found.places} == {Proof.PROVED}
    assert [str(one) for one in found.unmodelled] != []
