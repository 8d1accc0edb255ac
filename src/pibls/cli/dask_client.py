"""The Dask client of the options --workers and --scheduler."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pibls.cli.exits import UsageError
from pibls.errors import import_optional

if TYPE_CHECKING:
    from types import ModuleType

_CONNECT_TIMEOUT = 10.0  # seconds to wait for the scheduler


def _local_cluster(dask: ModuleType, workers: int) -> Any:
    """A local cluster whose processes ignore Ctrl-C, which the terminal sends to all of them."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited by the workers
    try:
        return dask.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        )
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def dask_client(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    """Yield a Dask client, or None if neither option is given."""
    if workers is None and scheduler is None:
        yield None
        return
    if workers is not None and scheduler is not None:
        raise UsageError("--workers: expected either --workers or --scheduler, got both. Omit one of them.")
    if workers is not None and workers < 1:
        raise UsageError(
            f"--workers: expected a whole number of at least 1, got {workers}. Write --workers 2."
        )
    dask = import_optional("distributed", extra="engine", purpose="--workers" if workers else "--scheduler")
    if sys.platform != "win32":
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a lost worker must not terminate the command
    if workers is not None:
        with _local_cluster(dask, workers) as cluster, dask.Client(cluster) as client:
            yield client
        return
    try:
        client = dask.Client(scheduler, timeout=_CONNECT_TIMEOUT)
    except (OSError, ValueError) as problem:  # a timeout is an OSError
        raise UsageError(
            f"--scheduler: expected the address of a running Dask scheduler, got {scheduler} ({problem}). "
            "Check the address and that the scheduler runs."
        ) from None
    with client:
        yield client
