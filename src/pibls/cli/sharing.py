"""--workers 4, --scheduler ADDRESS: the processes or machines that share a solve."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pibls.cli.outcome import RefusedError
from pibls.errors import need

_PATIENCE = 10.0  # seconds to wait for a scheduler to answer


def _processes(dask: Any, workers: int) -> Any:
    """Worker processes that leave Ctrl-C, which a terminal sends to all, to the command alone."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # they inherit it
    try:
        return dask.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        )
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def shared(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    """A Dask client, or None where all is done in this process."""
    if workers is None and scheduler is None:
        yield None
        return
    if workers is not None and scheduler is not None:
        raise RefusedError("--workers: either that or --scheduler, not both.")
    if workers is not None and workers < 1:
        raise RefusedError(f"--workers: expected a whole number of at least 1, got {workers}.")
    dask = need("distributed", extra="engine", purpose="--workers" if workers else "--scheduler")
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a lost worker must not end the command
    if workers is not None:
        with _processes(dask, workers) as cluster, dask.Client(cluster) as client:
            yield client
        return
    try:
        client = dask.Client(scheduler, timeout=_PATIENCE)
    except (OSError, ValueError) as problem:  # a timeout is an OSError
        raise RefusedError(f"--scheduler: no scheduler answers at {scheduler} ({problem}).") from None
    with client:
        yield client
