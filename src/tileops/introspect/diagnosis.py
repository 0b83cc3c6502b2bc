"""What this installation consists of: versions, devices, backends, targets and caches."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from tileops.errors import DeviceFactsError
from tileops.introspect._target_state import TargetState, target_states
from tileops.kernels.compile import cache_folder

if TYPE_CHECKING:
    import torch

    from tileops.backend import LoadedBackend, LoadFailure, Registry
    from tileops.device import DeviceFacts

__all__ = [
    "BackendState",
    "CacheState",
    "DeviceState",
    "Diagnosis",
    "TargetState",
    "diagnose",
]

PACKAGES = ("tileops", "torch", "tilelang", "apache-tvm-ffi", "z3-solver", "libcst", "typer")


@dataclass(frozen=True)
class DeviceState:
    """A device of this machine; ``problem`` says why its facts cannot be read."""

    device: str
    name: str
    facts: DeviceFacts | None
    problem: str | None = None


@dataclass(frozen=True)
class BackendState:
    """What one distribution or module has registered.

    Attributes:
        registered_by: The distribution with its version, or the module.
        kernels: Added implementations, as ``op: key``.
        builders: Ops replaced, as ``op: target``.
        detectors: Targets that it detects devices for.
        device_facts: Device types whose facts it reads.
    """

    registered_by: str
    kernels: tuple[str, ...]
    builders: tuple[str, ...]
    detectors: tuple[str, ...]
    device_facts: tuple[str, ...]


@dataclass(frozen=True)
class CacheState:
    """A directory of built kernels: where it is and how much it holds."""

    name: str
    path: str
    files: int
    size: int


@dataclass(frozen=True)
class Diagnosis:
    """Everything a report of a problem should hold."""

    python: str
    system: str
    packages: tuple[tuple[str, str | None], ...]
    devices: tuple[DeviceState, ...]
    loaded: tuple[LoadedBackend, ...]
    failures: tuple[LoadFailure, ...]
    backends: tuple[BackendState, ...]
    targets: tuple[TargetState, ...]
    default_target: str | None
    caches: tuple[CacheState, ...]

    @property
    def has_ops(self) -> bool:
        """Whether torch is installed, which every op needs."""
        return dict(self.packages)["torch"] is not None

    @property
    def healthy(self) -> bool:
        """Whether every backend loaded, every device and detector answered, and none disagree."""
        problems = [
            *(one.problem for one in self.devices),
            *(one.problem for one in self.targets),
        ]
        return not self.failures and not any(problems)


def diagnose(registry: Registry | None) -> Diagnosis:
    """Load the installed backends and describe the installation; no kernel is built.

    Args:
        registry: What the backends register in; None where torch is missing, and with it
            everything that could be registered.
    """
    devices: tuple[DeviceState, ...] = ()
    if registry is not None:
        registry.load()
        devices = _devices(registry)
    return Diagnosis(
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        packages=tuple((name, _version(name)) for name in PACKAGES),
        devices=devices,
        loaded=registry.loaded if registry else (),
        failures=registry.failures if registry else (),
        backends=_backends(registry) if registry else (),
        targets=_targets(registry, devices) if registry else (),
        default_target=registry.default_target if registry else None,
        caches=_caches(),
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _targets(registry: Registry, devices: tuple[DeviceState, ...]) -> tuple[TargetState, ...]:
    import torch

    return target_states(registry, [torch.device(one.device) for one in devices])


def _devices(registry: Registry) -> tuple[DeviceState, ...]:
    import torch

    found = [(torch.device("cpu"), platform.processor() or platform.machine())]
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if accelerator is not None:
        for index in range(torch.accelerator.device_count()):
            device = torch.device(accelerator.type, index)
            is_cuda = device.type == "cuda"
            found.append((device, torch.cuda.get_device_name(device) if is_cuda else device.type))
    return tuple(_device(registry, device, name) for device, name in found)


def _device(registry: Registry, device: torch.device, name: str) -> DeviceState:
    try:
        return DeviceState(str(device), name, registry.readers.facts_of(device))
    except DeviceFactsError as error:
        return DeviceState(str(device), name, None, str(error))


def _backends(registry: Registry) -> tuple[BackendState, ...]:
    kernels, builders = registry.kernels.values(), registry.builders.values()
    detectors, facts = registry.detectors.values(), registry.facts.values()
    names = sorted({one.claimant for table in registry.tables for one in table.values()})
    return tuple(
        BackendState(
            name,
            tuple(f"{one.op}: {one.key}" for one in kernels if one.claimant == name),
            tuple(f"{one.op}: {one.target}" for one in builders if one.claimant == name),
            tuple(one.target for one in detectors if one.claimant == name),
            tuple(one.device_type for one in facts if one.claimant == name),
        )
        for name in names
    )


def _caches() -> tuple[CacheState, ...]:
    return (_cache("compiled programs (TILELANG_CACHE_DIR)", cache_folder()),)


def _cache(name: str, path: Path) -> CacheState:
    files = [one for one in path.rglob("*") if one.is_file()] if path.is_dir() else []
    shown = str(path).replace(str(Path.home()), "~", 1)
    return CacheState(name, shown, len(files), sum(one.stat().st_size for one in files))
