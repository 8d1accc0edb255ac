"""What decides which functions corners bring."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CorneredThresholds:
    """Functions of corners in cells (`search.cornered`)."""

    above: float = 2.0  # degrees above the first: what is less is taken out everywhere
    highest: float = 8.0  # degree of what is added in the cell of a corner


CORNERED = CorneredThresholds()
