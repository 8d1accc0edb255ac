"""Memory that was freed is kept for the next matrix.

The C library gives blocks above a threshold back to the system as soon as they are freed, and every page of
the next one is then cleared anew: a sixth of the time of a solve of a few hundred functions (2,400 pages).
Its threshold grows to the largest such block that was ever freed; so one is freed at the start, untouched.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

_KEPT = 16 << 20  # bytes: a matrix of a thousand columns; up to twice as many stay with the process


@lru_cache(maxsize=1)
def keep_freed_memory() -> None:
    """Once per process; where the C library has no such threshold, nothing happens."""
    np.empty(_KEPT, dtype=np.uint8)
