r"""Validation of an incremental model: residuals, and an error estimate by a second basis."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from pibls.adaptive.candidate import compute_candidate, condition_errors, validation_residuals
from pibls.adaptive.thresholds import DEFAULT
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import ErrorEstimate, Norms, compare, norms_by_name, with_lower_bound
from pibls.arrays import Array
from pibls.assembly.points import Points
from pibls.basis import GrownBroad, coefficient_order
from pibls.incremental.state import GrownState
from pibls.linalg import PivotedQR
from pibls.nonlinear import GaussNewton, LeastSquares
from pibls.spaces import SingleDomainSpace
from pibls.status import Status


@dataclass(frozen=True)
class ValidatedFunction:
    """The solution of a model as a function, with its residuals."""

    context: ValidationContext = field(repr=False)
    basis: GrownBroad
    points: Points
    space: SingleDomainSpace = field(repr=False)
    w: Array = field(repr=False)
    residuals: dict[str, Norms]

    @classmethod
    def of(
        cls, context: ValidationContext, basis: GrownBroad, points: Points, state: GrownState
    ) -> ValidatedFunction:
        """Evaluate the residuals of a state at the validation points."""
        unknowns = context.compiled.unknowns
        space = SingleDomainSpace.shared(state.stages[-1].caching_at(()), unknowns)
        w = state.w[coefficient_order(state.stages, unknowns)]
        judged, _ = validation_residuals(context, space, w)
        return cls(context, basis, points, space, w, norms_by_name(judged))

    @property
    def status(self) -> Status:
        """Whether the residuals are resolved."""
        relative = max((n.relative for n in self.residuals.values()), default=np.inf)
        return Status.SOLVED if relative <= DEFAULT.max_resolved_residual else Status.UNRESOLVED

    def error(self) -> ErrorEstimate:
        """Estimate the error by comparison with a solution in a basis of another scale."""
        base, compiled = self.basis.base, self.context.compiled
        other = replace(self.basis, base=replace(base, scale=DEFAULT.companion_scale * base.scale))
        method = LeastSquares(PivotedQR()) if compiled.is_linear else GaussNewton()
        second = compute_candidate(replace(self.context), other, self.points, method, key=1)
        found = compare(
            (self.space, self.w), second.function, compiled.unknowns, self.context.comparison_points
        )
        return with_lower_bound(found, condition_errors(self.context, self.residuals))
