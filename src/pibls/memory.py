"""Memory that this process may still use, and whether what is planned fits into it.

A process that asks for more than there is may be killed, or slow the machine down, before Python raises a
MemoryError. What is large is therefore estimated first.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

_SMALL = 1 << 26
"""Bytes below which nothing is compared: a matrix of 2,900 columns and rows; to look takes 0.1 ms."""
_UNLIMITED = 1 << 60
"""Bytes: how version 1 of control groups says that there is no limit."""


def available_memory() -> float:
    """Bytes that can be allocated: the least of what the machine, control groups and rlimits leave."""
    return min(_physical(), _control_group(), _resource_limits())


def check_memory(need: float) -> None:
    """Raise a MemoryError where so many bytes are not available."""
    if need > _SMALL and need > (left := available_memory()):
        raise MemoryError(f"{need / 1e9:.1f} GB are needed, {left / 1e9:.1f} GB are available")


def _physical(meminfo: str = "/proc/meminfo") -> float:
    for line in _lines(meminfo):
        if line.startswith("MemAvailable:"):
            return 1024.0 * int(line.split()[1])
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf  # nobody says


def _control_group(member: str = "/proc/self/cgroup", root: str = "/sys/fs/cgroup") -> float:
    """What the limits of the group and of those that hold it leave; what files keep there can be freed."""
    left = math.inf
    for line in _lines(member):
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top = Path(root) / ("memory" if controllers else "")
        names = ("limit_in_bytes", "usage_in_bytes") if controllers else ("max", "current")
        # Inside a container the path may be that of the host: then the root is the group.
        for group in (top / path.lstrip("/"), *(top / path.lstrip("/")).parents):
            if not group.is_relative_to(top):
                break
            most, used = (_number(group / f"memory.{name}") for name in names)
            if most is not None and used is not None and most < _UNLIMITED:
                left = min(left, max(most - used + _cached(group), 0.0))
    return left


def _cached(group: Path) -> float:
    """Bytes of files that were not used lately."""
    found = [line.split() for line in _lines(str(group / "memory.stat"))]
    values = {name: float(value) for name, value in found}
    return values.get("total_inactive_file", values.get("inactive_file", 0.0))


def _resource_limits(status: str = "/proc/self/status") -> float:
    try:
        import resource
    except ImportError:  # not on Windows
        return math.inf
    names = {"VmSize": resource.RLIMIT_AS, "VmData": resource.RLIMIT_DATA}
    limits = {name: resource.getrlimit(kind)[0] for name, kind in names.items()}
    left = math.inf
    for line in _lines(status):
        name, _, value = line.partition(":")
        if limits.get(name, resource.RLIM_INFINITY) != resource.RLIM_INFINITY:
            left = min(left, max(limits[name] - 1024.0 * int(value.split()[0]), 0.0))
    return left


def _number(path: Path) -> float | None:
    """What a file says; None where it is missing or says "max"."""
    text = next(iter(_lines(str(path))), "").strip()
    return float(text) if text.isdigit() else None


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
