"""Asking and answering ``tileops explain``, once torch may be loaded."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from tileops.backend import BUILTIN
from tileops.call_spec import CallSpec
from tileops.cli._call import params_that_ask, requests_of
from tileops.cli._call_words import GivenCall
from tileops.cli._explain_json import explanation_record
from tileops.cli._explain_md import explanation_markdown
from tileops.cli._explain_text import explanation_lines
from tileops.cli._failure import UsageFailure, unknown
from tileops.cli._imports import import_modules, load_op, stdout_kept_clean
from tileops.cli._index import OpRow
from tileops.cli._places import DeviceOptions, read_places
from tileops.cli._question import (
    chosen_interfaces,
    complete_facts,
    reject_strangers,
)
from tileops.cli._render import write
from tileops.cli._stdout import emit
from tileops.cli._suppositions import supposing_words, tables_supposing
from tileops.introspect.explanation import (
    Explanation,
    InterfaceAnswer,
    TensorCall,
    explain_request,
    target_answer,
)
from tileops.ops._possible import impossibility
from tileops.ops.op import Op
from tileops.selection import Stage


@dataclass(frozen=True)
class Question:
    """What a command line asks.

    Attributes:
        row: The op.
        interface: The interface asked about; None for all.
        options: Where.
        target: The ``target=`` of the op.
        modules: What to import first.
        facts: The facts that options state.
        call: The call, where it is given as tensors.
        why_not: A key whose selection is to be explained.
        expect: A key that is to be selected.
        added: Classes to suppose, as ``module:Class``.
        removed: Keys to suppose away.
    """

    row: OpRow
    interface: str | None
    options: DeviceOptions
    target: str | None = None
    modules: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    call: GivenCall | None = None
    why_not: str | None = None
    expect: str | None = None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def ask(question: Question) -> Explanation:
    """Answer the question of a command line.

    Raises:
        UsageFailure: A name or a value is wrong.
        LoadFailure: The op, a module or a backend cannot be loaded.
    """
    with stdout_kept_clean():
        op = load_op(question.row)
        import_modules(list(question.modules))
        places = read_places(question.options)
        added, removed = list(question.added), list(question.removed)
        tables = tables_supposing(op, added, removed)
        _check_target(op, question.target)
        chosen = chosen_interfaces(op, question.interface)
        _check_keys(question, [one.key for name in chosen for one in tables[name].candidates])
        device = places.places[0].torch_device()
        call, requests, defaulted = _requests(question, op, chosen, device)
        try:
            possible, impossible = _sorted_out(requests)
        except UsageFailure as failure:
            failure.remedy = _other_interfaces(op, chosen, question.facts)
            raise
        answers = []
        for name, spec, facts in possible:
            answer = explain_request(tables[name], spec, facts, places.places)
            asked = question.why_not if question.why_not in answer.keys else None
            answers.append(_with_detail(answer, spec, asked))
        if impossible:
            _check_keys(question, [key for one in answers for key in one.keys], "possible key")
        _check_asked(question, answers)
        return Explanation(
            op.__name__,
            target_answer(op, question.target, device),
            defaulted,
            places.every_board,
            tuple(answers),
            op.registry.failures,
            supposing_words(added, removed),
            call,
            impossible,
        )


Asked = tuple[str, type[CallSpec], dict[str, Any]]
"""An interface, the type of its call spec, and every fact of the call."""


def _requests(
    question: Question, op: type[Op], chosen: tuple[str, ...], device: torch.device
) -> tuple[TensorCall | None, list[Asked], tuple[str, ...]]:
    """Return the call given as tensors, what is requested of the interfaces, the facts defaulted.

    Raises:
        UsageFailure: The facts or the tensors make no call, or one that asks for no such kernel.
    """
    if question.call is not None:
        call, requests = _of_tensors(question.call, op, chosen, device)
        return call, requests, ()
    given = dict(question.facts)
    reject_strangers(op, chosen, given)
    asked: list[Asked] = []
    defaulted: dict[str, None] = {}
    for name in chosen:
        facts, missing = complete_facts(op, name, given)
        defaulted |= dict.fromkeys(missing)
        asked.append((name, op.interfaces[name].calls(), facts))
    return None, asked, tuple(defaulted)


def _of_tensors(
    given: GivenCall, op: type[Op], chosen: tuple[str, ...], device: torch.device
) -> tuple[TensorCall, list[Asked]]:
    try:
        call, requests = requests_of(op, given, device)
    except UsageFailure as failure:
        # A call that lacks a tensor may be whole with another value of a parameter.
        if failure.remedy is None:
            failure.remedy = params_that_ask(op, given, device, chosen)
        raise
    found = [(name, type(spec), spec.facts()) for name, spec in requests if name in chosen]
    if requests and not found:
        names = ", ".join(dict.fromkeys(name for name, _ in requests))
        other = params_that_ask(op, given, device, chosen)
        raise UsageFailure(
            f"this call asks {', '.join(chosen)} for no kernel",
            remedy="\n".join(filter(None, (f"it asks {names}", other))),
        )
    return call, found


def _sorted_out(requests: Sequence[Asked]) -> tuple[list[Asked], dict[str, str]]:
    """Return the requests that an op can make, and why it makes no other, by interface.

    Raises:
        UsageFailure: It makes none of them.
    """
    reasons = [(name, impossibility(spec(**facts))) for name, spec, facts in requests]
    possible = [one for one, (_, why) in zip(requests, reasons, strict=True) if why is None]
    impossible = {name: why for name, why in reasons if why is not None}
    if impossible and not possible:
        said = dict.fromkeys(impossible.values())
        each = [f"{why} ({name})" for name, why in impossible.items()]
        raise UsageFailure(f"no op makes such a call: {'; '.join(each if len(said) > 1 else said)}")
    return possible, impossible


def _other_interfaces(
    op: type[Op], chosen: Collection[str], given: Mapping[str, Any]
) -> str | None:
    """Say which interfaces that were not asked about have calls with these facts; None for none."""
    found = []
    for name in (one for one in op.interfaces if one not in chosen and given):
        try:
            facts, _ = complete_facts(op, name, given)
        except UsageFailure:
            continue
        if impossibility(op.interfaces[name].calls()(**facts)) is None:
            found.append(name)
    return f"--interface {' or '.join(found)} has such a call" if found else None


def _check_asked(question: Question, answers: Sequence[InterfaceAnswer]) -> None:
    """Reject a question why a key is not selected of an interface that is not asked."""
    key = question.why_not
    if key is None or not answers or any(key in one.keys for one in answers):
        return
    asked = ", ".join(one.table.interface for one in answers)
    raise UsageFailure(f"this call asks {asked}, which {key} is no key of")


def _with_detail(answer: InterfaceAnswer, spec: type[CallSpec], key: str | None) -> InterfaceAnswer:
    """Add what formulas say, loading what makes them only where there is something to say."""
    refused = any(v.stage is Stage.REFUSED for g in answer.groups for v in g.selection.verdicts)
    if not refused and key is None:
        return answer
    from tileops.introspect.detail import detailed

    return detailed(answer, spec, key)


def _check_keys(question: Question, keys: Sequence[str], what: str = "key") -> None:
    """Reject a key that none of the interfaces asked about has."""
    for key in (question.why_not, question.expect):
        if key is not None and key not in keys:
            raise unknown(what, key, keys, of=question.row.name)


def _check_target(op: type[Op], target: str | None) -> None:
    known = [*op.registry.targets(), BUILTIN]
    if target is not None and target not in known:
        remedy = f"known: {', '.join(known)}; --import MODULE adds targets of other packages"
        raise unknown("target", target, known, remedy)


def render(answer: Explanation, form: str, whole: bool) -> None:
    """Write an answer to stdout as text, json or md; the text whole or the essential."""
    if form == "json":
        emit(json.dumps(explanation_record(answer), indent=2, allow_nan=False) + "\n")
    elif form == "md":
        emit(explanation_markdown(answer))
    else:
        write(explanation_lines(answer, whole))
