"""One BLAS thread for small matrices: more of them only wait for each other.

On a busy machine two threads on a matrix of a few hundred columns can be a hundred times slower than
one, because each spins until the other has its turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from threading import Lock
from typing import Any

_SMALL = 1000  # columns below which one thread is as fast


@lru_cache(maxsize=1)
def _controller() -> Any:
    import scipy.linalg  # noqa: F401 - its BLAS must be loaded before it can be limited
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def sensible_threads(columns: int) -> AbstractContextManager[Any]:
    """A context in which a matrix of that many columns is worked on by a sensible number of threads."""
    return nullcontext() if columns >= _SMALL else _one_thread()


_lock = Lock()
_limits: list[Any] = []
"""The limit that is in force, once for each context that needs it."""


@contextmanager
def _one_thread() -> Iterator[None]:
    """One BLAS thread until the last of these contexts ends, in whichever Python thread that is.

    The number belongs to the process: a context that restored it alone would change it for the others.
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


def _limit() -> Any:
    """The limit to one thread, which can be restored; None where there is one thread already."""
    if all(library.num_threads == 1 for library in _controller().lib_controllers):
        return None
    return _controller().limit(limits=1, user_api="blas")
