"""The report of ``tileops doctor`` as text and JSON; torch is loaded where it is installed."""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tileops.cli._failure import OPS_REMEDY
from tileops.cli._render import Line, without_roots, write
from tileops.cli._stdout import emit
from tileops.errors.wording import shown
from tileops.introspect.diagnosis import Diagnosis, TargetState, diagnose

if TYPE_CHECKING:
    from tileops.backend import LoadFailure

SCHEMA = "tileops.doctor/1.0"


def examine() -> Diagnosis:
    """Describe the installation; the failures of backends are in the report, not on stderr."""
    if find_spec("torch") is None:
        return diagnose(None)
    from tileops.backend import REGISTRY

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=RuntimeWarning, message="tileops backend")
        return diagnose(REGISTRY)


def render(diagnosis: Diagnosis, form: str) -> None:
    """Write the report to stdout."""
    if form == "json":
        emit(json.dumps(diagnosis_record(diagnosis), indent=2) + "\n")
    else:
        write(diagnosis_lines(diagnosis))


def diagnosis_record(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the report as plain values."""
    record = {field.name: getattr(diagnosis, field.name) for field in dataclasses.fields(diagnosis)}
    record["packages"] = dict(diagnosis.packages)
    record["failures"] = [_failure_record(one) for one in diagnosis.failures]
    for name in ("devices", "loaded", "backends", "targets", "caches"):
        record[name] = [dataclasses.asdict(one) for one in record[name]]
    return {"schema": SCHEMA, "healthy": diagnosis.healthy, **record}


def _failure_record(failure: LoadFailure) -> dict[str, Any]:
    return {
        "name": failure.name,
        "value": failure.value,
        "distribution": failure.distribution,
        "error": without_roots(shown(failure.error)),
        "traceback": without_roots(failure.traceback),
    }


def diagnosis_lines(diagnosis: Diagnosis) -> Iterator[Line]:
    """Yield the report for people."""
    yield _row("python", f"{diagnosis.python}, {diagnosis.system}")
    for name, version in diagnosis.packages:
        yield _row(name, version or "not installed", "" if version else "yellow")
    if diagnosis.has_ops:
        yield from _installed_lines(diagnosis)
    else:
        yield _row("ops", f"not installed; to add them: {OPS_REMEDY}", "yellow")
    yield from _section("caches")
    for cache in diagnosis.caches:
        yield _row(cache.path, f"{cache.files} files, {cache.size / 2**20:.1f} MiB, {cache.name}")


def _installed_lines(diagnosis: Diagnosis) -> Iterator[Line]:
    yield from _section("devices")
    for device in diagnosis.devices:
        if device.problem is not None:
            yield _row(device.device, device.problem, "red")
        else:
            yield _row(device.device, f"{device.name}{_facts(device.facts)}")
    yield from _section("backends")
    yield from _backend_lines(diagnosis)
    yield from _section("targets")
    yield _row("default", diagnosis.default_target or "none: the detectors choose")
    for target in diagnosis.targets:
        yield _row(target.target, _target_sentence(target), "red" if target.problem else "")


def _backend_lines(diagnosis: Diagnosis) -> Iterator[Line]:
    for loaded in diagnosis.loaded:
        yield _row(
            loaded.name, f"loaded {loaded.value} ({loaded.distribution or 'no distribution'})"
        )
    for failure in diagnosis.failures:
        owner = failure.distribution or failure.value
        yield _row(
            failure.name, f"failed to load ({owner}): {without_roots(shown(failure.error))}", "red"
        )
        for line in without_roots(failure.traceback).splitlines():
            yield ((f"    {line}", "dim"),)
    if not diagnosis.loaded and not diagnosis.failures:
        yield _row("none", "no installed package has an entry point in tileops.backends")
    for backend in diagnosis.backends:
        held = [
            *(f"kernel {one}" for one in backend.kernels),
            *(f"builder {one}" for one in backend.builders),
            *(f"detector of {one}" for one in backend.detectors),
            *(f"device facts of {one}" for one in backend.device_facts),
        ]
        yield _row("registered", f"by {backend.registered_by}: {'; '.join(held)}")


def _target_sentence(target: TargetState) -> str:
    serves = f"serves {', '.join(target.ops)}" if target.ops else "serves no op"
    if target.problem is not None:
        return f"{serves}; {target.problem}"
    if target.claims is None:
        return f"{serves}; selected by name"
    return f"{serves}; claims {', '.join(target.claims) or 'no device of this machine'}"


def _section(title: str) -> Iterator[Line]:
    yield ()
    yield ((title, "bold"),)


def _row(name: str, text: str, style: str = "") -> Line:
    return ((f"  {name.ljust(16)}  ", "dim"), (text, style))


def _facts(facts: Any) -> str:
    known = {name: value for name, value in dataclasses.asdict(facts).items() if value is not None}
    return "".join(f", {name} {value}" for name, value in known.items())
