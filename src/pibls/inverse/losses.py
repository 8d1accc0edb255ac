r"""Robust loss functions ½ρ(r²) and their influence functions ψ(r) = ρ'(r²) r."""

from __future__ import annotations

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError

LOSSES = ("linear", "soft_l1", "huber", "cauchy", "arctan")
"""The names used by `scipy.optimize.least_squares`."""


def check_loss(loss: object) -> str:
    """Return the name of a loss function; raise a `ProblemError` if it is not known."""
    if loss not in LOSSES:
        raise ProblemError(
            "loss",
            expected=f"one of {', '.join(LOSSES)}",
            got=repr(loss),
            remedy="Write loss='soft_l1' if some values may be outliers.",
        )
    return str(loss)


def influence(loss: str, r: Array) -> tuple[Array, Array]:
    """Return the influence function ψ(r) of a loss ½ρ(r²), and its derivative ψ'(r)."""
    z = r**2
    match loss:
        case "soft_l1":
            first, second = (1 + z) ** -0.5, -0.5 * (1 + z) ** -1.5
        case "huber":
            far = z > 1
            root = np.where(far, z, 1.0)
            first = np.where(far, root**-0.5, 1.0)
            second = np.where(far, -0.5 * root**-1.5, 0.0)
        case "cauchy":
            first, second = 1 / (1 + z), -1 / (1 + z) ** 2
        case "arctan":
            first, second = 1 / (1 + z**2), -2 * z / (1 + z**2) ** 2
        case _:
            first, second = np.ones_like(z), np.zeros_like(z)
    return first * r, first + 2 * z * second
