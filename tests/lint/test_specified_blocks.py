"""The specification's own code says nothing to the linter, whatever is written around it."""

import ast

import pytest
from specification_tree import BLOCKS, block, specification_tree

from tileops.findings import Severity
from tileops.lint._check import finding_of
from tileops.lint._memory import Workspace
from tileops.lint._registry import all_rules, rule_ids

NAMES = sorted(file.stem for file in BLOCKS.glob("*.txt"))


def found(tree):
    """The findings of error and warning rules over a tree, as place, rule and message."""
    wanted = [rule for rule in all_rules().values() if rule.severity is not Severity.PEDANTIC]
    files = {path: text.encode() for path, text in tree.items()}
    space = Workspace(files, wanted, rule_ids=frozenset(rule_ids()))
    findings = [finding_of(report, space) for report in space.check().standing]
    return [f"{f.path}:{f.range}: {f.rule}: {f.message}" for f in findings]


def test_every_block_lints_clean():
    """No error and no warning, in the blocks and around them."""
    assert found(specification_tree()) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_block_stands_in_the_tree(name):
    """A block that was left out would be clean as well; Python blocks parse alone."""
    assert any(block(name) in text for text in specification_tree().values())
    if "_" in name and name != "entry_point":
        ast.parse(block(name))


@pytest.mark.parametrize(
    ("path", "old", "new", "rule"),
    [
        pytest.param(
            "decode.py", "    general: bool = False\n", "", "general-inherited", id="general"
        ),
        pytest.param(
            "decode.py",
            '"gqa_dense_decode_bs1"})',
            '"bs1"})',
            "preferred-over-unknown-key",
            id="key",
        ),
        pytest.param(
            "norm/call_spec.py",
            "(frozen=True)\nclass LayerNorm",
            "\nclass LayerNorm",
            "call-spec-not-frozen",
            id="frozen",
        ),
        pytest.param(
            "norm/call_spec.py",
            "LayerNormFwdInterface",
            "LayerFwdNormInterface",
            "interface-name",
            id="name",
        ),
        pytest.param(
            "layer_norm.py",
            "call.n, call.eps, call.dtype",
            "call.n, call.epsilon, call.dtype",
            "unknown-call-fact",
            id="fact",
        ),
        pytest.param(
            "test_kernel_dispatch.py",
            "(call.n, call.eps), lambda",
            "(call.n,), lambda",
            "build-identity-omits-fact",
            id="identity",
        ),
        pytest.param(
            "test_family_dispatch.py",
            "trans_b=True",
            "transposed_b=True",
            "call-spec-unknown-field",
            id="field",
        ),
        pytest.param(
            "batch_norm.py",
            '"fwd_train_whole": ',
            '"fwd_train_wide": ',
            "duplicate-mapping-key",
            id="mapping",
        ),
    ],
)
def test_the_tree_is_understood(path, old, new, rule):
    """Silence means that the code was read: one slip in a block is reported."""
    tree = specification_tree()
    (changed,) = [one for one in tree if one.endswith(path) and old in tree[one]]
    slipped = {**tree, changed: tree[changed].replace(old, new, 1)}
    assert any(f": {rule}: " in line for line in found(slipped))
