"""The function `solve` and its result, `Solution`; modules are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pibls.solution.solution import Component, Solution

__all__ = ["Component", "Solution"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'pibls.solution' has no attribute {name!r}")
    from pibls.solution import solution

    return vars(solution)[name]
