"""Entry points of the group tileops.backends: when they load, and what a failing one leaves."""

from __future__ import annotations

import importlib
import sys
import threading
import warnings

import pytest
import torch
from probe import ProbeCall, probe_op

from tileops.backend import LoadedBackend
from tileops.errors import BackendError

GOOD = """
from probe import ShiftingKernel
register_kernel_type("ProbeFwdOp", "shifting", ShiftingKernel)
"""

EVERY_TABLE = """
from probe import Builder, ShiftingKernel
register_kernel_type("ProbeFwdOp", "half", ShiftingKernel)
register_detector("half", lambda device: True)
register_kernel_builder("ProbeFwdOp", "half", Builder())
register_device_facts("xpu", lambda device: None)
set_default_target("half")
"""


def registered(registry):
    """Return the names in every table."""
    return {
        "kernels": list(registry.kernels),
        "targets": registry.targets(),
        "facts": registry.readers.device_types,
        "default": registry.default_target,
    }


def test_the_first_op_has_the_keys_of_installed_backends(site):
    """Backends load before the first op installs its keys, not when they are looked for."""
    site.install("good", GOOD)
    assert "backend_good" not in sys.modules
    op = probe_op(site.registry)()
    assert op.key_for("probe", ProbeCall("cpu", n=4)) == "shifting"
    assert op(torch.ones(4)).tolist() == [1002.0] * 4


def test_backends_load_once(site):
    """Further ops load nothing and ask for no entry points."""
    site.install("good", GOOD)
    op = probe_op(site.registry)
    op()
    loaded = sys.modules.pop("backend_good")
    op()
    site.registry.load()
    assert "backend_good" not in sys.modules
    assert site.asked == 1
    assert loaded.__name__ == "backend_good"


def test_backends_load_in_the_order_of_name_and_value(site):
    """The order is that of (name, value), whatever the order of the distributions."""
    for name, module, distribution in [
        ("b", "alpha", "d1"),
        ("a", "zulu", "d3"),
        ("a", "mike", "d4"),
        ("c", "bravo", "d0"),
    ]:
        key = f"{name}_{module}"
        source = GOOD.replace('"shifting"', f'"{key}"')
        site.install(name, source, module=f"backend_{module}", distribution=distribution)
    site.registry.load()
    keys = [key for _, key in site.registry.kernels]
    assert keys == ["a_mike", "a_zulu", "b_alpha", "c_bravo"]
    assert [(one.name, one.value) for one in site.registry.loaded] == [
        ("a", "backend_mike"),
        ("a", "backend_zulu"),
        ("b", "backend_alpha"),
        ("c", "backend_bravo"),
    ]


def test_a_registration_is_attributed_to_its_distribution(site):
    """Name and version of the distribution stay with what it registers."""
    site.install("good", GOOD, distribution="acme-tiles", version="3.1")
    site.registry.load()
    (registration,) = site.registry.kernels.values()
    assert registration.claimant == "acme-tiles 3.1"
    assert site.registry.loaded == (LoadedBackend("good", "backend_good", "acme-tiles 3.1"),)


def test_a_backend_imported_by_hand_is_attributed_when_it_loads(site):
    """Importing a backend first registers at once, and loading does not register again."""
    site.install("good", GOOD, distribution="acme-tiles", version="3.1")
    importlib.import_module("backend_good")
    (registration,) = site.registry.kernels.values()
    assert registration.claimant == "module backend_good"
    site.registry.load()
    (registration,) = site.registry.kernels.values()
    assert registration.claimant == "acme-tiles 3.1"
    assert site.registry.failures == ()


def test_a_backend_may_construct_an_op_while_it_is_imported(site):
    """The loading does not start again from inside."""
    source = "from probe import probe_op\nimport tileops_backend\n"
    source += "op = probe_op(register_detector.__self__)()\n" + GOOD
    site.install("good", source)
    site.registry.load()
    assert site.asked == 1
    assert list(site.registry.kernels) == [("ProbeFwdOp", "shifting")]


FAULTS = [
    pytest.param("raise OSError('no driver')", OSError, "no driver", id="raises"),
    pytest.param("import no_such_module_here", ImportError, "no_such_module", id="import-error"),
    pytest.param("def (", SyntaxError, "invalid syntax", id="syntax-error"),
    pytest.param(EVERY_TABLE + "1 / 0", ZeroDivisionError, "division", id="half-then-raises"),
    pytest.param("import sys\nsys.exit(3)", SystemExit, "3", id="calls-sys-exit"),
    pytest.param(
        EVERY_TABLE + "raise GeneratorExit('odd')", GeneratorExit, "odd", id="raises-oddly"
    ),
    pytest.param(
        "register_kernel_type('ProbFwdOp', 'x', int)",
        BackendError,
        "no op 'ProbFwdOp'; did you mean ProbeFwdOp",
        id="mistyped-op",
    ),
    pytest.param(
        EVERY_TABLE + EVERY_TABLE,
        BackendError,
        "and bad 1.0 registers it again; leave one of the two calls out",
        id="registers-its-own-twice",
    ),
    pytest.param(
        "register_detector('bad', lambda device: True)\n" + GOOD,
        BackendError,
        "and bad 1.0 registers it again; uninstall bad, or uninstall a_good",
        id="registers-a-duplicate",
    ),
]


@pytest.mark.parametrize(("source", "kind", "text"), FAULTS)
def test_a_failing_backend_is_undone_and_the_others_work(site, source, kind, text):
    """Its registrations vanish from every table, one warning tells, the record says why."""
    site.install("a_good", GOOD)
    site.install("bad", source)
    site.install("late", "from probe import Builder\nregister_detector('late', lambda d: False)")
    with pytest.warns(RuntimeWarning) as caught:
        op = probe_op(site.registry)()
    assert registered(site.registry) == {
        "kernels": [("ProbeFwdOp", "shifting")],
        "targets": ("late",),
        "facts": ("cuda",),
        "default": None,
    }
    (failure,) = site.registry.failures
    assert (failure.name, failure.value, failure.distribution) == ("bad", "backend_bad", "bad 1.0")
    assert type(failure.error) is kind or isinstance(failure.error, kind)
    assert text in str(failure.error)
    assert "backend_bad.py" in failure.traceback
    (warning,) = caught
    assert "backend 'bad' (bad 1.0) failed to load" in str(warning.message)
    assert "load_failures()" in str(warning.message)
    assert op(torch.ones(4)).tolist() == [1002.0] * 4


def test_one_warning_for_each_failure_after_all_have_loaded(site):
    """Warnings wait until every backend had its turn, and are not repeated."""
    site.install("a", "raise ValueError('one')")
    site.install("b", "raise ValueError('two')")
    site.install("c", GOOD)
    seen = []

    def show(message, category, *args, **kwargs):
        seen.append((str(message), list(site.registry.kernels)))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        site.registry.load()
        site.registry.load()
        probe_op(site.registry)()
    assert [text.split("'")[1] for text, _ in seen] == ["a", "b"]
    assert all(kernels == [("ProbeFwdOp", "shifting")] for _, kernels in seen)


def test_a_warning_turned_into_an_error_loses_no_record(site):
    """Where warnings are errors the first op raises; the records stand and the next op works."""
    site.install("a", "raise ValueError('one')")
    site.install("b", GOOD)
    op = probe_op(site.registry)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="'a'"):
            op()
        assert [one.name for one in site.registry.failures] == ["a"]
        assert op()(torch.ones(4)).tolist() == [1002.0] * 4
    assert site.asked == 1


def test_an_interrupt_is_no_failure(site):
    """KeyboardInterrupt reaches the caller, half a backend is undone, and the next op loads all."""
    site.install("a", GOOD)
    gate = EVERY_TABLE + (
        "import builtins\n"
        "if not hasattr(builtins, 'probe_interrupted'):\n"
        "    builtins.probe_interrupted = True\n"
        "    raise KeyboardInterrupt\n"
    )
    site.install("b", gate)
    try:
        with pytest.raises(KeyboardInterrupt):
            site.registry.load()
        assert registered(site.registry)["targets"] == ()
        assert registered(site.registry)["default"] is None
        assert site.registry.failures == ()
        site.registry.load()
    finally:
        import builtins

        del builtins.probe_interrupted
    assert [one.name for one in site.registry.loaded] == ["a", "b"]
    assert registered(site.registry)["targets"] == ("half",)


def test_what_another_thread_registers_outlives_a_failing_backend(site):
    """Only what the failing import itself registered is undone, and only that is its own."""
    site.install(
        "bad",
        "import threading, tileops_backend\n"
        "register_detector('half', lambda device: False)\n"
        "tileops_backend.meet()\n"
        "raise ValueError('half way')",
    )
    entered, registered_meanwhile = threading.Event(), threading.Event()

    def meet():
        entered.set()
        assert registered_meanwhile.wait(10)

    sys.modules["tileops_backend"].meet = meet

    def register():
        assert entered.wait(10)
        site.registry.register_detector("mine", lambda device: False)
        registered_meanwhile.set()

    thread = threading.Thread(target=register)
    thread.start()
    with pytest.warns(RuntimeWarning, match="bad"):
        site.registry.load()
    thread.join()
    assert site.registry.targets() == ("mine",)
    assert site.registry.detectors["mine"].claimant == f"module {__name__}"


def test_an_entry_point_may_name_an_attribute(site):
    """The module is imported; the attribute must exist."""
    site.install("good", GOOD + "\nregister = None")
    metadata = site.folder / "good-1.0.dist-info" / "entry_points.txt"
    metadata.write_text("[tileops.backends]\ngood = backend_good:register\n")
    site.registry.load()
    assert list(site.registry.kernels) == [("ProbeFwdOp", "shifting")]
    assert site.registry.failures == ()


@pytest.mark.parametrize("value", ["backend_good:absent", "not a module", "backend.none.such"])
def test_an_entry_point_that_names_nothing(site, value):
    """It is a failure like any other, undone and recorded."""
    site.install("good", GOOD)
    metadata = site.folder / "good-1.0.dist-info" / "entry_points.txt"
    metadata.write_text(f"[tileops.backends]\ngood = {value}\n")
    with pytest.warns(RuntimeWarning, match="good"):
        site.registry.load()
    assert site.registry.kernels == {}
    assert [one.value for one in site.registry.failures] == [value]
