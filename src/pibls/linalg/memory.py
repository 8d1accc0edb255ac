"""Setting of the C allocator that keeps freed memory for the next matrix.

The C library returns blocks above a threshold to the system when they are freed, and each page of the next
block is cleared again: a sixth of the time of a solve with a few hundred functions (2,400 pages). The
threshold grows to the largest block that was ever freed; therefore a large block is allocated and freed once,
without touching it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

_THRESHOLD_BYTES = 16 << 20  # a matrix of a thousand columns; up to twice as much stays allocated


@lru_cache(maxsize=1)
def keep_freed_memory() -> None:
    """Raise the threshold, once per process; without effect if the C library has no such threshold."""
    np.empty(_THRESHOLD_BYTES, dtype=np.uint8)
