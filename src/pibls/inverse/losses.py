r"""½ρ(r²), ψ = ρ'(r²) r: how much a residual counts, and how much it pulls."""

from __future__ import annotations

from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError

LOSSES = ("linear", "soft_l1", "huber", "cauchy", "arctan")
"""SciPy's names."""


def check_loss(loss: Any) -> str:
    if loss not in LOSSES:
        raise ProblemError(
            "loss",
            expected=f"one of {', '.join(LOSSES)}",
            got=repr(loss),
            remedy="Write loss='soft_l1' where some values may be wrong altogether.",
        )
    return str(loss)


def weight_of(loss: str, r: Array) -> tuple[Array, Array]:
    """ψ(r) and ψ'(r) of ½ρ(r²): how much each residual pulls."""
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
