"""One BLAS thread for small matrices: more of them only wait for each other.

On a busy machine two threads on a matrix of a few hundred columns can be a hundred times slower than
one, because each spins until the other has its turn.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

_SMALL = 1000  # columns below which one thread is as fast


@lru_cache(maxsize=1)
def _controller() -> Any:
    import scipy.linalg  # noqa: F401 - its BLAS must be loaded before it can be limited
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def sensible_threads(columns: int) -> AbstractContextManager[Any]:
    """A context in which a matrix of that many columns is worked on by a sensible number of threads."""
    if columns >= _SMALL or all(library.num_threads == 1 for library in _controller().lib_controllers):
        return nullcontext()
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited
