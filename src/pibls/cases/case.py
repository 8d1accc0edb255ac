"""A known problem: its statement, its exact solution, and what the paper published for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pibls.arrays import Array, PointFunction
from pibls.problem import Problem

PAPER, CODE, OURS = "the paper", "the authors' code", "our choice"


@dataclass(frozen=True)
class Origin:
    """Where one of the published settings comes from: the paper, its authors' public code, or us."""

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
    Origin("least squares by LAPACK's gelsd", CODE, "the paper: a standard least-squares method"),
    Origin("at most 5 perturbations of size δ = 0.5", CODE, "the paper gives no values"),
    Origin("perturbed start w + U(-δ, δ)", PAPER,
           "the code: ξ₂ w + U(-ξ₁δ, ξ₁δ) with random ξ₁, ξ₂ in (0, 1), as in locELM"),
    Origin("loss threshold ‖r‖² < 1e-10", OURS, "the paper gives no value; the code ½‖r‖² < 1e-3"),
    Origin("trust region with tolerances of 1e-15", OURS,
           "the paper: trust-region reflective; the code SciPy's, with its tolerances of 1e-8"),
    Origin("points by Sobol's rule", OURS,
           "the paper does not say; the code a regular grid, of which a random part in two dimensions"),
    Origin("start of a nonlinear solve from the linearised problem", PAPER,
           "the code drops the nonlinear terms and solves for the linear ones"),
    Origin("seeds 0, 1, 2, …", OURS, "the code one: 42 for TC-3, 5, 6, 7 and 10, else 3407"),
    Origin("300 points inside for TC-3", PAPER, "the code 350"),
    Origin("values on both sides of x for TC-8", PAPER, "the code keeps points of the inflow side x = -1"),
)  # fmt: skip
"""What is whose, the same for all eleven cases. Read from the repository Shawn-Yangdr/PIBLS at 9d9def0."""


@dataclass(frozen=True)
class Published:
    """The configuration of the paper and the result it reports for it.

    ``settings`` are the keyword arguments that make `pibls.solve` run that configuration. The paper gives
    the number of nodes and points; groups, R, whitening and perturbations come from its authors' public
    code, and some details are our choice: `provenance` says which is which.
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
    """The configuration of the code of the paper's authors, for a comparison like for like.

    ``solve(case.authors.problem, **case.authors.settings)`` runs it: their number of points and their grids
    with a random part, one bias for each group, their seed, tolerances, start and perturbations. Where they
    differ from the paper, `Published.provenance` says so. The seed is theirs, the random numbers are not:
    theirs come from NumPy's legacy generator and from torch.
    """

    problem: Problem
    """Their statement: that of the case, but for TC-8, where values are given at the inflow side only."""
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
    expression: Any = None
    """The exact solution in SymPy."""

    def exact(self, *coordinates: Any) -> Array:
        """The exact solution, a NumPy function of the coordinates."""
        value: Array = self.solution(*coordinates)
        return value

    def __repr__(self) -> str:
        return f"<Case {self.name}: {self.title}>"
