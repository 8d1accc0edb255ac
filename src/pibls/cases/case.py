"""Test cases: the problem, its exact solution, and the configuration and results of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from pibls.arrays import Array, PointFunction
from pibls.expressions import Expression
from pibls.problem import Problem

PAPER, CODE, OURS = "the paper", "the authors' code", "our choice"


@dataclass(frozen=True)
class Origin:
    """Source of a setting: the paper, the public code of its authors, or a choice of pibls."""

    what: str
    source: str
    note: str = ""


PROVENANCE = (
    Origin("number of nodes, nk + mq", PAPER, "Table 1, total parameters"),
    Origin("number of points inside, on the boundary and at the start", PAPER, "Table 1"),
    Origin("tanh for both kinds of nodes", PAPER),
    Origin("weights and biases uniform in (-R, R), a bias for each node", PAPER,
           "the code draws one bias for each group"),
    Origin("groups n, k, m, q", CODE, "the paper gives their total only"),
    Origin("range R", CODE, "the paper varies R for TC-1 and TC-9 and prints no value for any case"),
    Origin("whitened enhancement weights", CODE, "not in the paper"),
    Origin("inputs mapped to [-1, 1] for each coordinate", CODE, "not in the paper"),
    Origin("least squares by LAPACK's gelsd", CODE, "the paper prescribes a standard least-squares method"),
    Origin("at most 5 perturbations of size δ = 0.5", CODE, "the paper gives no values"),
    Origin("perturbed start w + U(-δ, δ)", PAPER,
           "the code uses ξ₂ w + U(-ξ₁δ, ξ₁δ) with random ξ₁, ξ₂ in (0, 1), as in locELM"),
    Origin("loss threshold ‖r‖² < 1e-10", OURS, "the paper gives no value; the code uses ½‖r‖² < 1e-3"),
    Origin("trust region with tolerances of 1e-15", OURS,
           "the paper names the method (trust-region reflective); "
           "the code uses SciPy's with tolerances of 1e-8"),
    Origin("points by Sobol's rule", OURS,
           "the paper gives no rule; the code uses a regular grid, in two dimensions a random part of it"),
    Origin("start of a nonlinear solve from the linearized problem", PAPER,
           "the code drops the nonlinear terms and solves for the linear ones"),
    Origin("seeds 0, 1, 2, …", OURS, "the code uses one seed: 42 for TC-3, 5, 6, 7 and 10, 3407 otherwise"),
    Origin("300 points inside for TC-3", PAPER, "the code uses 350"),
    Origin("values on both sides of x for TC-8", PAPER,
           "the code uses only points of the inflow side x = -1"),
)  # fmt: skip
"""Origin of each setting, the same for all cases; from the repository Shawn-Yangdr/PIBLS at 9d9def0."""


@dataclass(frozen=True)
class Published:
    """The configuration of the paper and its published results.

    ``settings`` are the keyword arguments of `pibls.solve` for that configuration. The paper gives the
    numbers of nodes and points; groups, R, whitening and perturbations are from the public code of its
    authors, and some details are our choice: see `provenance`.
    """

    settings: dict[str, Any]
    max_error: float
    l2_error: float
    seconds: float

    @property
    def provenance(self) -> tuple[Origin, ...]:
        """The origin of each setting."""
        return PROVENANCE


@dataclass(frozen=True)
class Authors:
    """The configuration of the public code of the paper's authors, for a direct comparison.

    ``solve(case.authors.problem, **case.authors.settings)`` runs it with their numbers of points, random
    subsets of grids, one bias for each group, seed, tolerances, initial guess and perturbations. Differences
    from the paper are listed in `Published.provenance`. The random numbers differ although the seed is the
    same: theirs come from NumPy's legacy generator and from torch.
    """

    problem: Problem
    """The problem of the case, except for TC-8, where values are given only on the inflow side."""
    settings: dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A problem with a known solution."""

    name: str
    title: str
    problem: Problem
    published: Published
    authors: Authors
    solution: PointFunction
    expression: Expression | None = None
    """The exact solution as a SymPy expression."""

    def exact(self, *coordinates: npt.ArrayLike) -> Array:
        """Return the exact solution at coordinate arrays."""
        value: Array = self.solution(*coordinates)
        return value

    def __repr__(self) -> str:
        return f"<Case {self.name}: {self.title}>"
