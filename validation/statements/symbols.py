"""Coordinates and unknown functions of the statements."""

from __future__ import annotations

from typing import Any

import sympy as sp

x, y, z, t, r, s = sp.symbols("x y z t r s")
S, tau = sp.symbols("S tau")
pi, R = sp.pi, sp.Rational
HALF, SPLIT = R(1, 2), R(3, 10)
SQUARE = {x: (0, 1), y: (0, 1)}
RADIUS_SQUARED = x**2 + y**2
RADIUS = sp.sqrt(RADIUS_SQUARED)
u_of, v_of, w_of = sp.Function("u"), sp.Function("v"), sp.Function("w")


def laplacian(e: Any, *coordinates: sp.Symbol) -> Any:
    """Return the sum of second derivatives, by x and y if nothing else is said."""
    return sp.Add(*(e.diff(c, 2) for c in coordinates or (x, y)))
