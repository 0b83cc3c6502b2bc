"""Faults planted in a copy of the sources: audit, inventory and diff find each, and show a call.

A row of `FAULTS` names the op and the edits, so a row may be about any op of the tree.
`DecodeFwdOp` is one that the tests add to the copy: three keys that overlap, a preference, limits
and architectures, in a text that no tuning changes.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import tileops

HERE = Path(__file__).parent
SOURCES = Path(tileops.__file__).parents[1]
DECODE = "ops/decode/decode.py"
LAYER_NORM = "kernels/norm/layer_norm.py"
GEMM = "kernels/gemm/gemm_kernel.py"
GEMM_GENERAL = "kernels/gemm/gemm_cp_async.py"
GEMM_FEW_ROWS = "kernels/gemm/gemv.py"
ATTENTION = "kernels/attention/gqa/decode.py"
INVENTORY = "src/tileops/inventory"


@dataclass(frozen=True)
class Answer:
    """What a command wrote, and how it ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Fault:
    """An edit of the tree, and what it does to calls.

    Attributes:
        op: The op it is about.
        edits: The file below the package, and what is replaced by what at its first place.
        moved: How diff says the outcome changes.
        where: Of which calls, in part.
        before: What explain comes to for such a call in the tree as it was.
        after: What it comes to in the faulty tree.
        audited: The audit's line; None where no call becomes ambiguous or unserved and no key
            useless, so that only what was written down before tells that anything changed.
    """

    op: str
    edits: tuple[tuple[str, str, str], ...]
    moved: str
    where: str
    before: str
    after: str
    audited: str | None = None


FAULTS = {
    "removed-preference": Fault(
        "DecodeFwdOp",
        ((DECODE, '    preferred_over = frozenset({"bs1"})\n', ""),),
        moved="long -> ambiguous",
        where="seqlen_kv >= 1024",
        before="selected long",
        after="ambiguous",
        audited="ambiguous  long and bs1 on SM89, SM90",
    ),
    "widened-refusal": Fault(
        "DecodeFwdOp",
        ((DECODE, "call.seqlen_kv > 131072", "call.seqlen_kv > 65536"),),
        moved="decode -> unserved",
        where="seqlen_kv > 65536",
        before="selected decode",
        after="unserved",
        audited="unserved  on SM80, SM89, SM90",
    ),
    "dropped-arch": Fault(
        "DecodeFwdOp",
        ((DECODE, "    supported_archs = [80, 89, 90]\n", "    supported_archs = [89, 90]\n"),),
        moved="decode -> unserved",
        where="arch is 80",
        before="selected decode",
        after="unserved",
        audited="unserved  on SM80",
    ),
    "dropped-arch-of-the-only-key": Fault(
        "LayerNormFwdOp",
        ((LAYER_NORM, "[80, 86, 89, 90]", "[80, 89, 90]"),),
        moved="layer_norm -> unserved",
        where="arch is 86",
        before="selected layer_norm",
        after="unserved",
        audited="unserved  on SM86",
    ),
    "swapped-general": Fault(
        "DecodeFwdOp",
        (
            (DECODE, "    general = True\n", ""),
            (
                DECODE,
                "    general = False\n    supported_archs",
                "    general = True\n    supported_archs",
            ),
        ),
        moved="bs1 -> decode",
        where="batch == 1",
        before="selected bs1",
        after="selected decode",
        audited="dead  bs1 never wins: blocked by decode",
    ),
    "narrowed-kernel": Fault(
        "DecodeFwdOp",
        ((DECODE, "call.seqlen_kv < 1024", "call.seqlen_kv < 2048"),),
        moved="long -> bs1",
        where="seqlen_kv < 2048",
        before="selected long",
        after="selected bs1",
    ),
    "dropped-arch-of-a-kernel": Fault(
        "DecodeFwdOp",
        ((DECODE, "    supported_archs = [89, 90]\n", "    supported_archs = [90]\n"),),
        moved="bs1 -> decode",
        where="arch is 89",
        before="selected bs1",
        after="selected decode",
    ),
    "removed-preference-of-a-gemm": Fault(
        "GemmFwdOp",
        ((GEMM_FEW_ROWS, 'frozenset({"gemm_skinny", "gemm_tma"})', 'frozenset({"gemm_tma"})'),),
        moved="gemv -> ambiguous",
        where="arch == 90",
        before="selected gemv",
        after="ambiguous",
        audited="ambiguous  gemv and gemm_skinny on SM90",
    ),
    "widened-refusal-of-a-gemm": Fault(
        "GemmFwdOp",
        ((GEMM, "if call.k < VECTOR:", "if call.k < 2 * VECTOR:"),),
        moved="gemm_cp_async -> unserved",
        where="k < 16",
        before="selected gemm_cp_async",
        after="unserved",
        audited="unserved  on SM80, SM86, SM89, SM90",
    ),
    "swapped-general-of-a-gemm": Fault(
        "GemmFwdOp",
        (
            (GEMM_GENERAL, "    general = True\n", ""),
            (GEMM_FEW_ROWS, "    preferred_over =", "    general = True\n    not_preferred ="),
        ),
        moved="gemv -> gemm_cp_async",
        where="arch is 80",
        before="selected gemv",
        after="selected gemm_cp_async",
        audited="dead  gemv never wins: blocked by gemm_cp_async",
    ),
    "removed-preference-of-attention": Fault(
        "GQADenseFwdOp",
        ((ATTENTION, '    preferred_over = frozenset({"gqa_dense_decode_bs1"})\n', ""),),
        moved="gqa_dense_decode_long_context -> ambiguous",
        where="seqlen_kv >= 1024",
        before="selected gqa_dense_decode_long_context",
        after="ambiguous",
        audited="ambiguous  gqa_dense_decode_long_context and gqa_dense_decode_bs1 on SM90",
    ),
    "dropped-arch-of-attention": Fault(
        "GQADenseFwdOp",
        ((ATTENTION, "[80, 89, 90]", "[80, 90]"),),
        moved="gqa_dense_decode -> unserved",
        where="arch is 89",
        before="selected gqa_dense_decode",
        after="unserved",
        audited="unserved  on SM89",
    ),
}


OPS = sorted({fault.op for fault in FAULTS.values()})
"""The ops of the inventory in the copy."""


def before(op: str) -> str:
    """Name the folder of what the inventory said of one op."""
    return f"before-{op}"


class Trees:
    """The copy of the sources, committed as it was, and what commands say in it.

    Args:
        folder: Where the copy is made.
        environment: What commands run in.
    """

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.package = folder / "src" / "tileops"
        self._environment = environment
        # Byte code goes along: it stays valid for files that keep their time stamps.
        shutil.copytree(SOURCES / "tileops", self.package)
        (self.package / DECODE).parent.mkdir()
        (self.package / DECODE).with_name("__init__.py").touch()
        shutil.copy(HERE / "packages" / "planted.py", self.package / DECODE)
        self._server = subprocess.Popen(
            [sys.executable, str(HERE / "tree_commands.py")],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        shutil.rmtree(folder / INVENTORY)
        written = [f"tileops inventory {op} --update --folder {before(op)}" for op in OPS]
        shipped = f"tileops inventory {' '.join(OPS)} --update --folder {INVENTORY}"
        answers, _ = self.run(*written, shipped, index=True)
        assert all((one.code, one.err) == (0, "") for one in answers), answers
        self.git("init", "-q")
        (folder / ".gitignore").write_text("__pycache__/\n")
        self.commit("good")

    def run(
        self, *lines: str, replay: bool = False, index: bool = False
    ) -> tuple[list[Answer], dict[str, Answer]]:
        """Run command lines, in a process of their own, with the sources as they are now.

        Returns:
            The answers, and those of the explain commands in them where they are to be run too.
        """
        job = {
            "root": str(self.package.parent),
            "cwd": str(self.folder),
            "commands": list(lines),
            "replay": replay,
            "index": index,
        }
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(job) + "\n")
        self._server.stdin.flush()
        found = json.loads(self._server.stdout.readline())
        replayed = {line: Answer(**one) for line, one in found["replayed"].items()}
        return [Answer(**one) for one in found["answers"]], replayed

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace a text in a file of the package, at its first place."""
        path = self.package / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{file} no longer holds {old!r}"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def paste(self, line: str) -> Answer:
        """Run one line in a shell."""
        variables = {**self._environment, "PYTHONPATH": str(self.package.parent)}
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def commit(self, name: str) -> None:
        """Commit everything and tag it."""
        self.git("add", "-A")
        identity = ("-c", "user.name=Someone", "-c", "user.email=someone@example.com")
        self.git(*identity, "commit", "-qm", name)
        self.git("tag", name)

    def git(self, *words: str) -> None:
        """Run git in the copy."""
        subprocess.run(["git", *words], cwd=self.folder, check=True, capture_output=True)

    def close(self) -> None:
        """End the process that serves the commands."""
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()


@dataclass(frozen=True)
class Found:
    """What the commands say of a faulty tree, and what their witnesses show.

    Attributes:
        audit: The audit.
        check: The check of the inventory.
        diff: The comparison of two folders.
        revisions: The comparison of two revisions.
        witnesses: What explain says of each command printed, in the tree as it was and in this.
    """

    audit: Answer
    check: Answer
    diff: Answer
    revisions: Answer
    witnesses: dict[str, tuple[Answer, Answer]]


@pytest.fixture(scope="module")
def trees(tmp_path_factory, environment):
    """The copy of the sources, as it was."""
    made = Trees(tmp_path_factory.mktemp("copy"), environment)
    yield made
    made.close()


@pytest.fixture(scope="module")
def everything(trees):
    """What is found of every fault: each in a commit, its witnesses asked of the good tree too."""
    faulty = {name: answers_to(trees, name) for name in FAULTS}
    comparisons, _ = trees.run(*(f"tileops diff good {name} --exit-code" for name in FAULTS))
    printed = list(dict.fromkeys(line for _, shown in faulty.values() for line in shown))
    witnesses, _ = trees.run(*printed)
    sound = dict(zip(printed, witnesses, strict=True))
    return {
        name: Found(*answers, compared, {line: (sound[line], one) for line, one in shown.items()})
        for (name, (answers, shown)), compared in zip(faulty.items(), comparisons, strict=True)
    }


def answers_to(trees, name):
    """Plant a fault, ask, write it into the history and take it back."""
    fault = FAULTS[name]
    for file, old, new in fault.edits:
        trees.edit(file, old, new)
    after = f"after-{name}"
    (audit, check, written, diff), replayed = trees.run(
        f"tileops audit {fault.op}",
        f"tileops inventory {fault.op} --check",
        f"tileops inventory {fault.op} --update --folder {after}",
        f"tileops diff {before(fault.op)} {after}",
        replay=True,
    )
    assert written.code == 0, written.err
    shutil.copytree(trees.folder / after, trees.folder / INVENTORY, dirs_exist_ok=True)
    trees.commit(name)
    trees.git("checkout", "-q", "good")
    return (audit, check, diff), replayed


@pytest.fixture(params=FAULTS)
def planted(everything, request):
    """One fault, and everything that is found of it."""
    return FAULTS[request.param], everything[request.param]


def says(result: Answer, outcome: str) -> bool:
    """Whether explain comes to an outcome: ``selected KEY``, ``ambiguous``, ``unserved``."""
    heads = (f"{outcome}  ", f"{outcome}: ")
    return any(line.startswith(heads) for line in result.out.splitlines())


def change_in(result: Answer, fault: Fault) -> str:
    """Return the command printed below the change that the fault makes."""
    lines = [line.strip() for line in result.out.splitlines()]
    assert f"changed  {fault.moved}" in lines, result.out
    place = lines.index(f"changed  {fault.moved}")
    while fault.where not in lines[place + 1]:
        assert lines[place + 1].startswith(("where", "tileops explain")), result.out
        place += 1
    return lines[place + 2]


def test_the_tree_without_a_fault_is_clean(trees):
    """What is found below is due to the faults."""
    ops = " ".join(OPS)
    (audit, check, diff), _ = trees.run(
        f"tileops audit {ops}",
        f"tileops inventory {ops} --check",
        f"tileops diff good {INVENTORY} --exit-code",
    )

    assert (audit.code, check.code, diff.code) == (0, 0, 0)
    assert "DecodeFwdOp.decode  decode, bs1, long" in audit.out
    assert "unserved, accepted  seqlen_kv > 131072" in audit.out


def test_the_check_fails_and_names_the_calls(planted):
    """``inventory --check`` exits with 1; its command shows the fault, and showed none before."""
    fault, found = planted
    before, after = found.witnesses[change_in(found.check, fault)]

    assert found.check.code == 1
    assert fault.op in found.check.out
    assert says(before, fault.before)
    assert before.code == 0
    assert says(after, fault.after)


def test_the_comparison_names_the_calls(planted):
    """``diff`` of folders and of revisions says the same, and its command shows the fault."""
    fault, found = planted
    command = change_in(found.diff, fault)
    before, after = found.witnesses[command]

    assert change_in(found.revisions, fault) == command
    assert (found.diff.code, found.revisions.code) == (0, 1)
    assert found.revisions.out == found.diff.out
    assert says(before, fault.before)
    assert says(after, fault.after)


def test_the_audit_finds_what_is_wrong_by_itself(planted):
    """The audit says what became ambiguous, unserved or useless; of a changed winner, nothing.

    A call that another key serves now is as good a call as before, unless something says what was
    meant: that is what an inventory is for.
    """
    fault, found = planted
    lines = [line.strip() for line in found.audit.out.splitlines()]

    if fault.audited is None:
        assert found.audit.code == 0
        assert lines[-1].endswith("0 findings, 0 not proved")
        return
    assert found.audit.code == 1
    assert fault.audited in lines
    after_finding = lines[lines.index(fault.audited) :]
    command = next(line for line in after_finding if line.startswith("tileops explain"))
    before, after = found.witnesses[command]
    assert before.code == 0
    assert says(after, fault.after)
    assert not says(before, fault.after)


def test_every_command_that_is_printed_tells_the_trees_apart(planted):
    """No witness is printed that shows the same in both trees."""
    _, found = planted

    assert found.witnesses
    for command, (before, after) in found.witnesses.items():
        assert before.out != after.out, command


def test_a_command_can_be_pasted(trees, everything):
    """In a shell the command of a fault says what it says above."""
    fault = FAULTS["removed-preference"]
    command = change_in(everything["removed-preference"].revisions, fault)
    trees.git("checkout", "-q", "removed-preference")
    pasted = trees.paste(command)
    trees.git("checkout", "-q", "good")

    assert says(pasted, fault.after)
