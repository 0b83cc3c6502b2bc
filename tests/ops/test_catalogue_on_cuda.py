"""What holds of every op on a CUDA device: graphs, streams, threads, parameters."""

from __future__ import annotations

import threading
from functools import cache

import pytest
import torch

from ops.catalogue_cases import Case, cases
from tileops.ops.catalogue import in_tree_ops

CASES = cases()
EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)

THREADS, STREAMS, ROUNDS = 8, 4, 6


def test_every_op_has_a_case():
    """No op that holds kernels is passed over."""
    known = {name for name, kind in in_tree_ops().items() if kind.kernel_types}
    assert {case.kind.__name__ for case in CASES} == known


@cache
def op_of(name):
    """The op of a case, built once for every test."""
    (case,) = [one for one in CASES if one.name == name]
    return case.op()


def listed(results):
    return list(results) if isinstance(results, tuple) else [results]


def copied(case: Case, tensors):
    """The same inputs with memory of their own where the call writes it."""
    written = case.written()
    return [one.clone() if place in written else one for place, one in enumerate(tensors)]


def outcome(case: Case, tensors):
    """What a call returns and writes."""
    inputs = copied(case, tensors)
    results = listed(op_of(case.name)(*inputs))
    return [one.clone() for one in (*results, *[inputs[place] for place in case.written()])]


def check(found, expected):
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.float(), other.float(), equal_nan=True)


@pytest.mark.gpu
@EVERY_CASE
def test_captured_calls_replay_with_new_contents(case):
    """A graph reads and writes what lies in its inputs at every replay."""
    op, written = op_of(case.name), case.written()
    inputs = copied(case, case.tensors(0))
    for _ in range(3):
        op(*inputs)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = listed(op(*inputs))
    for seed in (1, 2):
        fresh = case.tensors(seed)
        expected = outcome(case, fresh)
        for one, contents in zip(inputs, fresh, strict=True):
            if one is not None:
                one.copy_(contents)
        graph.replay()
        torch.cuda.synchronize()
        check([*outputs, *[inputs[place] for place in written]], expected)
    # The op serves eager calls as before.
    check(outcome(case, case.tensors(1)), outcome(case, case.tensors(1)))


@pytest.mark.gpu
@EVERY_CASE
def test_threads_and_streams_get_what_one_gets(case):
    """Eight threads call one op on four streams each, all at once."""
    op, written = op_of(case.name), case.written()
    contents = [case.tensors(seed) for seed in range(STREAMS)]
    expected = [outcome(case, one) for one in contents]
    torch.cuda.synchronize()
    together, failures = threading.Barrier(THREADS), []

    def act():
        try:
            streams = [torch.cuda.Stream() for _ in range(STREAMS)]
            together.wait(30)
            for _ in range(ROUNDS):
                found = []
                for stream, tensors in zip(streams, contents, strict=True):
                    with torch.cuda.stream(stream):
                        inputs = copied(case, tensors)
                        results = listed(op(*inputs))
                        found.append([*results, *[inputs[place] for place in written]])
                for stream, one, other in zip(streams, found, expected, strict=True):
                    stream.synchronize()
                    check(one, other)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=act) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []


@pytest.mark.gpu
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@EVERY_CASE
def test_parameters_where_no_gradient_is_wanted(case, mode):
    """Inputs that are parameters, which require gradients elsewhere, change nothing."""
    tensors, written = case.tensors(0), case.written()
    expected = outcome(case, tensors)
    with mode():
        for _ in range(5):
            inputs = [
                one
                if one is None or place in written or not one.is_floating_point()
                else torch.nn.Parameter(one)
                for place, one in enumerate(copied(case, tensors))
            ]
            results = listed(op_of(case.name)(*inputs))
            assert not any(one.requires_grad for one in results)
            check([*results, *[inputs[place] for place in written]], expected)


@pytest.mark.gpu
@EVERY_CASE
def test_a_fresh_op_on_a_stream_of_its_own(case):
    """The first call, which builds, may be on any stream, and so may the next one."""
    op, tensors = case.op(), case.tensors(3)
    expected = outcome(case, tensors)
    for _ in range(3):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            inputs = copied(case, tensors)
            found = [*listed(op(*inputs)), *[inputs[place] for place in case.written()]]
        stream.synchronize()
        check(found, expected)


@pytest.mark.gpu
@EVERY_CASE
def test_a_device_that_is_not_the_current_one(case):
    """A call runs where its tensors are, first and later, whatever device is current."""
    last = torch.cuda.device_count() - 1
    if last < 1:
        pytest.skip("needs two devices")
    op, written = op_of(case.name), case.written()
    expected = outcome(case, case.tensors(4))
    for _ in range(5):
        there = [
            one if one is None or not one.is_cuda else one.to(f"cuda:{last}")
            for one in case.tensors(4)
        ]
        results = [*listed(op(*there)), *[there[place] for place in written]]
        assert all(one.device == there[0].device for one in results)
        torch.cuda.synchronize(last)
        check(
            [one.to(other.device) for one, other in zip(results, expected, strict=True)], expected
        )
    assert torch.cuda.current_device() == 0
