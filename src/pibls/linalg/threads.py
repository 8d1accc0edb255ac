"""Limit on BLAS threads for small matrices.

On a busy machine two threads on a matrix of a few hundred columns can be a hundred times slower than one,
because each thread spins while it waits for the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController, _ThreadpoolLimiter

_MIN_COLUMNS_FOR_THREADS = 1000  # below, one thread is as fast


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 - its BLAS must be loaded before it can be limited
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def limit_blas_threads(columns: int) -> AbstractContextManager[None]:
    """Return a context with one BLAS thread if matrices have few columns, else without a limit."""
    return nullcontext() if columns >= _MIN_COLUMNS_FOR_THREADS else _one_thread()


_lock = Lock()
_limits: list[_ThreadpoolLimiter | None] = []
"""The active limit, once for each open context."""


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one BLAS thread until the last of these contexts ends, in any Python thread.

    The number of threads is a setting of the process, which contexts in other Python threads share.
    """
    with _lock:
        _limits.append(_limits[0] if _limits else _limit())
    try:
        yield
    finally:
        with _lock:
            limit = _limits.pop()
            if not _limits and limit is not None:
                limit.restore_original_limits()


def _limit() -> _ThreadpoolLimiter | None:
    """Limit BLAS to one thread and return the limit, to be restored; None if there is one already."""
    if all(library.num_threads == 1 for library in _controller().lib_controllers):
        return None
    return _controller().limit(limits=1, user_api="blas")
