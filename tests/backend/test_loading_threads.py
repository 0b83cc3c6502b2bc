"""Threads that construct and call ops while backends load."""

from __future__ import annotations

import threading

import pytest
import torch
from probe import probe_op

THREADS = 8

# The pause lets every thread arrive while the module is half imported.
SLOW = """
import time
from probe import Builder, ShiftingKernel
register_kernel_type("ProbeFwdOp", "early", ShiftingKernel)
time.sleep(0.3)
register_kernel_builder("ProbeFwdOp", "acme", Builder())
"""


def at_once(work):
    """Run *work* in THREADS threads that start together; return the results."""
    together = threading.Barrier(THREADS)
    results, errors = [], []

    def run():
        try:
            together.wait(10)
            results.append(work())
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert errors == []
    assert len(results) == THREADS
    return results


def test_backends_load_once_and_every_thread_sees_all_of_them(site):
    """No thread constructs an op from half a backend."""
    site.install("slow", SLOW)
    op = probe_op(site.registry)
    answers = at_once(lambda: (op()(torch.ones(4)).tolist(), site.registry.targets()))
    assert answers == [([1002.0] * 4, ("acme",))] * THREADS
    assert site.asked == 1


def test_a_failing_backend_warns_once_and_is_seen_by_no_thread(site):
    """Whichever thread loads, the half it registered is never served."""
    site.install("slow", SLOW + "\nraise OSError('no driver')")
    op = probe_op(site.registry)
    with pytest.warns(RuntimeWarning) as caught:
        answers = at_once(lambda: (op()(torch.ones(4)).tolist(), site.registry.targets()))
    assert answers == [([2.0] * 4, ())] * THREADS
    assert len(caught) == 1


def test_an_op_shared_by_threads_builds_each_entry_once(site):
    """Concurrent misses of one in-tree entry build once, different ones each their own."""
    site.install("slow", "import time\ntime.sleep(0.2)")
    built = []
    kernel = probe_op(site.registry).kernel_types["probe"]

    class Counted(kernel):
        def __init__(self, call):
            super().__init__(call)
            built.append(call.n)

    op = type("ProbeFwdOp", (probe_op(site.registry),), {"kernel_types": {"probe": Counted}})()
    answers = at_once(lambda: [op(torch.ones(n)).sum().item() for n in (2, 3, 4, 5)])
    assert answers == [[4.0, 6.0, 8.0, 10.0]] * THREADS
    assert sorted(built) == [2, 3, 4, 5]


def test_an_op_shared_by_threads_builds_each_target_kernel_once(site):
    """The target is chosen once and its builder runs once per kind of input."""
    counted = (
        "import builtins, time\n"
        "from probe import Builder\n"
        "time.sleep(0.2)\n"
        "builder = Builder()\n"
        "asked = []\n"
        "register_detector('acme', lambda device: asked.append(device) or True)\n"
        "register_kernel_builder('ProbeFwdOp', 'acme', builder)\n"
    )
    site.install("counted", counted)
    op = probe_op(site.registry)()
    answers = at_once(lambda: [op(torch.ones(n)).sum().item() for n in (2, 3, 4, 5)])
    assert answers == [[204.0, 306.0, 408.0, 510.0]] * THREADS
    registration = site.registry.builders["ProbeFwdOp", "acme"]
    shapes = [x.shape for x, _, _ in registration.build_kernel.built]
    assert sorted(shapes) == [(2,), (3,), (4,), (5,)]
    import backend_counted

    assert backend_counted.asked == [torch.device("cpu")]
