"""Shared by the benchmarks: errors on points that were not fitted, timing, threads, Markdown tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import numpy as np

from pibls.cases.case import Case

T = TypeVar("T")
_POINTS = 4000


def errors(case: Case, solution: Callable[..., Any]) -> tuple[float, float]:
    """Return maximum and root-mean-square error on random points that were not fitted."""
    X = case.problem.domain.interior(_POINTS, np.random.default_rng(20251115))
    e = np.asarray(solution(*X.T)) - case.exact(*X.T)
    return float(np.abs(e).max()), float(np.sqrt(np.mean(e**2)))


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return the result and the wall seconds."""
    start = time.perf_counter()
    value = work()
    return value, time.perf_counter() - start


def threads(count: int | None) -> AbstractContextManager[Any]:
    """Limit the number of BLAS threads."""
    if count is None:
        return nullcontext()
    import scipy.linalg  # noqa: F401 - a library that is loaded later would not be limited
    from threadpoolctl import threadpool_limits

    return threadpool_limits(count)  # type: ignore[no-any-return]


def resident() -> float:
    """Return the resident memory of this process in bytes (Linux), elsewhere its peak."""
    import resource

    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return float(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns."""
    body = [list(header), *[list(r) for r in rows]]
    widths = [max(len(r[i]) for r in body) for i in range(len(header))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) + " |" for r in body]
    lines.insert(1, "| " + " | ".join("-" * w for w in widths) + " |")
    return "\n".join(lines)
