"""Available memory of this process, and a check before large allocations.

A process that allocates more than is available may be killed, or slow the machine down, before Python raises
a MemoryError. Large allocations are therefore estimated first.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

_MIN_CHECKED_BYTES = 1 << 26
"""Bytes below which no check is made, a square matrix of 2,900 columns: a check takes 0.1 ms."""
_UNLIMITED = 1 << 60
"""Bytes: larger limits of control groups version 1 mean that there is no limit."""


def available_memory() -> float:
    """Return the bytes that can be allocated: the minimum over the machine, control groups and rlimits."""
    return min(_physical(), _control_group(), _resource_limits())


def check_memory(need: float) -> None:
    """Raise a MemoryError if ``need`` bytes are not available."""
    if need > _MIN_CHECKED_BYTES and need > (left := available_memory()):
        raise MemoryError(f"{need / 1e9:.1f} GB are needed, {left / 1e9:.1f} GB are available")


def _physical(meminfo: str = "/proc/meminfo") -> float:
    for line in _lines(meminfo):
        if line.startswith("MemAvailable:"):
            return 1024.0 * int(line.split()[1])
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf  # unknown


def _control_group(member: str = "/proc/self/cgroup", root: str = "/sys/fs/cgroup") -> float:
    """Return the bytes left by the limits of the group and its parents; file caches can be freed."""
    left = math.inf
    for line in _lines(member):
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top = Path(root) / ("memory" if controllers else "")
        names = ("limit_in_bytes", "usage_in_bytes") if controllers else ("max", "current")
        # Inside a container the path may be that of the host; then the root is the group.
        for group in (top / path.lstrip("/"), *(top / path.lstrip("/")).parents):
            if not group.is_relative_to(top):
                break
            most, used = (_number(group / f"memory.{name}") for name in names)
            if most is not None and used is not None and most < _UNLIMITED:
                left = min(left, max(most - used + _cached(group), 0.0))
    return left


def _cached(group: Path) -> float:
    """Return the bytes of inactive file caches."""
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
    """Return the number in a file; None if it is missing or "max"."""
    text = next(iter(_lines(str(path))), "").strip()
    return float(text) if text.isdigit() else None


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
