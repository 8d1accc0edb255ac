"""W = steps · (c₀ + c₃ N³): what an attempt costs, in seconds of a machine that has nothing else to do.

Plans are compared by this and not by the clock: a busy machine must not change which of them is followed,
so that the same seed gives the same answer. What the clock says enters in one place, `Budget.pace`, and
decides only whether there is time left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

_FIXED = 3e-3
"""Drawing, assembling and judging of a system without size (32 waves on a line: 3.5 ms)."""
_PLACED, _USUAL = 1e-4, 6
"""Per condition and face: 40 holes with a condition each take 0.2 s, whatever the width."""
_CUBED = 3e-10
"""Per column cubed, points in proportion: 512 waves in the plane take 0.065 s, 1458 in space 0.98 s."""
_CELL = 1e-3
"""A cell without size, and …"""
_TOGETHER = 1.2
"""… how the cost of all of them grows with their number: 16, 73 and 274 of 64 waves 0.06, 0.42 and 1.7 s."""

_FACTORED = 4e-9
"""Per function of an axis cubed: 162 and 162 take 0.013 s, 290 and 290 0.06 s; and of products …"""
_ALONG = 1.6e-9
"""… per function and function of an axis: 62 along each of three axes take 0.07 s each time, and …"""
_TRIANGULAR = 4.0
"""… so much more where convection leaves triangles (42 along each of three: 0.03 s)."""

_ELIMINATED = 5e-11
"""Per box, row and own function squared where boxes are eliminated: 64 boxes of 22² take 0.5 s …"""
_SKELETON = 3e-5
"""… and per function of their edges: 256 boxes of 12² have 9,860 of them, and take 0.44 s."""


def dense(columns: int, steps: int, statements: int = 0) -> float:
    """One piece, with that many equations and conditions."""
    placed = _PLACED * max(statements - _USUAL, 0) ** 2
    return _FIXED + placed + max(steps, 1) * _CUBED * float(columns) ** 3


def divided(cells: int, columns: int, traces: int, steps: int) -> float:
    """Cells, each eliminated with the unknowns of its faces; a face has two cells."""
    front = (columns + 2.0 * traces) / cells
    each = _CELL + _CUBED * front**3
    return _FIXED + max(steps, 1) * math.pow(cells, _TOGETHER) * each


def multiplied(functions: Sequence[int], solves: int, triangular: bool = False) -> float:
    """Products of so many functions along the axes, with the sum of one operator for each solved so often."""
    total = math.prod(functions)
    each = _ALONG * total * sum(functions) * (_TRIANGULAR if triangular else 1.0)
    return _FIXED + _FACTORED * sum(float(n) ** 3 for n in functions) + solves * each


def eliminated(boxes: int, functions: int) -> float:
    """Boxes of a plane with so many functions of all unknowns, each eliminated by itself."""
    return boxes * (_ELIMINATED * float(functions) ** 3 + _SKELETON * 4.0 * math.sqrt(functions))
