"""How much work something is, counted in calls: the same on a busy machine as on an idle one."""

from __future__ import annotations

import cProfile
from collections.abc import Callable


def calls_of(work: Callable[[], object]) -> int:
    """The number of calls of Python and C functions that `work` makes."""
    profile = cProfile.Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())
