"""The findings of a solve beside the solution itself, which messages use."""

from __future__ import annotations

from typing import TypedDict

from pibls.arrays import Array

Notes = TypedDict(  # noqa: UP013 - "told" is the name in saved files, not a name to use in code
    "Notes",
    {
        "stopped": tuple[float, str],  # the time at which an evolution stopped, and why
        "lost": float | None,  # the time after which no digit is correct
        "rough": float,  # the time since which the data are not smooth
        "promised": float,  # the time from which the error estimate holds
        "layers": tuple[tuple[float, float], ...],  # time intervals that the error estimate excludes
        "growth": float,  # of short waves in an ill-posed problem, as a power of ten
        "imbalance": tuple[str, float, float],  # an equation, its total source and the total boundary flux
        "told": dict[str, float],  # redundant conditions that the solution violates, and by how much
        "engine": str,  # why the engine was lost
        "function_jumps": tuple[tuple[str, str, tuple[float, ...]], ...],  # name, coordinate and places
        "cell_errors": Array,  # the estimated error in each cell
    },
    total=False,
)
"""Further findings of a solve; each is present only if it was found. The keys are those of saved files."""
