"""What the linter says of a mutant is what constructing or calling the op says."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mutants import ROOT, mutants, own_tree
from slips import SLIPS

CONSTRUCTION = {
    "NotAKernelError": {"registered-class-not-kernel"},
    "ForwardSignatureError": {"forward-signature"},
    "SeveralGeneralError": {"several-general"},
    "PreferenceCycleError": {"preferred-over-cycle"},
    "UnknownKernelInterfaceError": {"registered-class-without-interface"},
    "UndeclaredInterfacesError": {"op-without-interfaces"},
    "NotAClassmethodError": {"entry-for-not-classmethod"},
    "AbstractKernelError": {"missing-abstract-method"},
    "PreferenceError": {"preferred-over-type", "preferred-over-unknown-key"},
    "ArchsNeedOneDeviceError": {"archs-need-one-device"},
    "InterfaceDeclarationError": {"interface-request"},
    "KeyReuseError": {"register-duplicate-key"},
    "BackendError": {"register-unknown-op"},
}
"""The rule that mirrors each error of constructing an op or registering with it."""

CALL = {
    "CallSpecTypeError": {"call-spec-wrong-request"},
    "StatedFactsError": {"kernel-for-states-device-fact", "call-spec-redeclares-device-fact"},
    "UnkeyableFactError": {"call-spec-mutable-argument"},
    "UnknownInterfaceError": {"unknown-interface-key"},
}
"""The rule that mirrors each error of a call; only ops that run on the CPU are called."""

FORM = {"AvailabilityFormError": {"devices-form", "supported-archs-form"}}
"""Rules that flag also forms which construction lets pass, such as a set of characters."""

ERRORS = {**CONSTRUCTION, **CALL, **FORM}
RULES = set().union(*ERRORS.values())
CALLED = "src/tileops/ops/norm/layer_norm.py"
TREES = ("src/tileops", "docs/examples/tileops_acme")


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Mutants of the mirroring rules, the new findings of each, and what running each raises."""
    corpus = own_tree()
    chosen = [
        mutant
        for slip in SLIPS
        if slip.rule in RULES
        for mutant in mutants(corpus, slip, 50)
        if all(path.startswith(TREES) for path in mutant.files)
    ]
    # Every op is built alike, so two sites stand for all; the op that is called is always one.
    kept = {m for m in chosen if m.path == CALLED}
    for slip in SLIPS:
        kept.update([m for m in chosen if m.slip is slip][: 2 * len(slip.becomes)])
    chosen = [m for m in chosen if m in kept]
    root = tmp_path_factory.mktemp("tree")
    for tree in TREES:
        shutil.copytree(ROOT / tree, root / tree, ignore=shutil.ignore_patterns("__pycache__"))
    changes = [{p: t.decode() for p, t in m.files.items()} for m in chosen]
    script = Path(__file__).with_name("construct.py")
    done = subprocess.run(
        [sys.executable, str(script), str(root)],
        input=json.dumps([{}, *changes]),
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    clean, *raised = json.loads(done.stdout)
    assert clean == ""
    outcomes = [corpus.judge(mutant) for mutant in chosen]
    return list(zip(chosen, outcomes, raised, strict=True))


@pytest.mark.parametrize("error", sorted(ERRORS))
def test_what_is_raised_is_reported(judged, error):
    """Some mutant raises each error, and a mirroring rule reports every such mutant."""
    raising = [(mutant, outcome) for mutant, outcome, raised in judged if raised == error]
    assert raising
    for mutant, outcome in raising:
        assert outcome.reported & ERRORS[error], f"{mutant} raises {error}"


@pytest.mark.parametrize("rule", sorted(set().union(*CONSTRUCTION.values())))
def test_what_is_reported_is_raised(judged, rule):
    """Constructing the op fails for every mutant that the rule reports."""
    reported = [(m, raised) for m, outcome, raised in judged if rule in outcome.reported]
    assert reported
    for mutant, raised in reported:
        assert raised in CONSTRUCTION, f"{mutant} raises {raised or 'nothing'}"


@pytest.mark.parametrize(
    "rule", sorted(set().union(*CALL.values()) - {"call-spec-redeclares-device-fact"})
)
def test_what_is_reported_of_a_call_is_raised(judged, rule):
    """Calling the op fails for every mutant of its call that the rule reports."""
    reported = [
        (m, raised)
        for m, outcome, raised in judged
        if rule in outcome.reported and m.path == CALLED and m.slip.rule == rule
    ]
    assert reported
    for mutant, raised in reported:
        # A list of a number fails by itself, before the call spec is looked at.
        assert rule in CALL.get(raised, ()) or raised == "TypeError", f"{mutant} raises {raised}"
