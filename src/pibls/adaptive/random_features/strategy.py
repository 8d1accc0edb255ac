r"""Strategy with one basis of random features, N → 2N until κ|u - ũ| ≤ tol·max|u|.

The width N is doubled, the scale follows from the width (`basis.scale`), and held-out points select. Before a
companion solution is computed, its difference is predicted: the last change of the solution times the
decrease of the held-out residual that came with it. Where doubling gains little, anisotropic random features
are tried at the same width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from pibls.adaptive.basis_parts import CompositeSpec, vector_functions_of
from pibls.adaptive.candidate import NEWTON, Candidate, compute_candidate, condition_errors
from pibls.adaptive.random_features.family import RandomFeatureFamily
from pibls.adaptive.random_features.variable_coupling import coupled_coordinates
from pibls.adaptive.singular.enrichment import Enrichment
from pibls.adaptive.strategy import Strategy
from pibls.adaptive.subdomains.family import SubdomainFamily, SubdomainSpecs
from pibls.adaptive.thresholds import RANDOM_FEATURES
from pibls.adaptive.validation.agreement import are_same_function, compare_candidates
from pibls.adaptive.validation.conditioning import unexplained_share
from pibls.adaptive.validation.estimate import (
    ErrorEstimate,
    compare,
    error_from_difference,
    with_lower_bound,
)
from pibls.analysis.coverage import missing_initial_conditions, parts_without_condition
from pibls.assembly.points import Points
from pibls.basis.scale import scale_for
from pibls.nonlinear import GaussNewton, Method
from pibls.spaces import Choice, Space
from pibls.status import Status


@dataclass(frozen=True)
class _Comparison:
    """A candidate to be compared with a companion solution, and with another one of a different width."""

    candidate: Candidate
    other: Candidate | None
    decrease: float
    """Residual of the candidate over that of the other one, at most one."""
    is_flat: bool
    """Whether more functions gain nothing, because of rounding."""
    is_first: bool = False
    """Whether it is the first candidate."""


@dataclass
class RandomFeatureStrategy(Strategy):
    """One basis of random features of increasing width."""

    points: Points | None = None
    method: Method | None = None
    newton: GaussNewton = NEWTON
    guess: Space | None = None
    family: RandomFeatureFamily | SubdomainFamily = field(default_factory=lambda: RandomFeatureFamily((1.0,)))
    previous: Candidate | None = None
    current: Candidate | None = None
    enrichment: Enrichment = field(default_factory=Enrichment)
    """Singular functions added to the random features."""
    _before_previous: Candidate | None = None
    """The candidate before the previous one."""
    _key: int = 0
    _width_history: list[tuple[int, float]] = field(default_factory=list, repr=False)
    """Width and residual of each candidate."""
    _width_count: int = 0
    """Number of widths tried."""
    _unchanged_count: int = 0
    """Number of consecutive doublings that did not change the function."""
    _compared: Candidate | None = None
    """The candidate whose error was estimated."""

    def __post_init__(self) -> None:
        self.family = self.context.family

    @property
    def _max_width(self) -> int:
        most = self.budget.max_nodes // self.context.compiled.unknowns - self._enrichment_size(
            self._width_count
        )
        return most // 2 * 2  # random features come in pairs (sine and cosine)

    def _enrichment_size(self, tried: int) -> int:
        """Return the number of singular functions after ``tried`` widths."""
        return self.enrichment.at_refinement(tried).size if self.enrichment else 0

    @property
    def _next_width(self) -> int | None:
        """The next width, if there is one."""
        first = RANDOM_FEATURES.initial_nodes.get(self.context.compiled.dimension, 512)
        if self.enrichment and not self.enrichment.hole_functions:
            first //= 2  # the singular part is resolved by other functions
        if self.context.tol >= self.context.thresholds.loose_tol and self.context.compiled.dimension > 1:
            first = 7 * first // 8  # fewer functions suffice for a loose tolerance
        if self.context.subdomains is not None:
            blocks = self.context.subdomains.relative_size
            first = int(
                min(
                    first * blocks,
                    max(
                        RANDOM_FEATURES.initial_subdomain_nodes, RANDOM_FEATURES.min_subdomain_nodes * blocks
                    ),
                )
            )
        if self._max_width < 2:
            return None
        if self.current is None:
            return self._largest_fitting(min(first, self._max_width), 0)
        width = self._width(self.current)
        return (
            None
            if width >= self._max_width
            else self._largest_fitting(min(self._wider_width(width), self._max_width), width)
        )

    def _largest_fitting(self, width: int, last: int) -> int | None:
        """Return that width, or the largest one that fits into max_nodes on subdomains."""
        if self.context.subdomains is None:
            return width
        enrichment = self.enrichment.at_refinement(self._width_count) if self.enrichment else self.enrichment
        while width > last:
            if self._spec(self.family, width, 1.0, enrichment).size * self._unknowns <= self.budget.max_nodes:
                return width
            width -= max(width // 8 // 2 * 2, 2)
        return None

    @property
    def _unknowns(self) -> int:
        return self.context.compiled.unknowns

    @property
    def min_nodes(self) -> int:
        """Columns of the smallest possible system."""
        return self._spec(self.family, 2, 1.0, self.enrichment).size * self._unknowns

    def _wider_width(self, width: int) -> int:
        """Return twice the width; where that is expensive, the width extrapolated from the missing digits.

        Digits are about proportional to the width: 2000 functions leave 3e-8 in a cube, 4000 leave 1e-13.
        """
        assert self.current is not None
        digits = -math.log10(max(self.current.relative_residual, 1e-300))
        thresholds, tol = self.context.thresholds, self.context.tol
        # Close to rounding, more functions gain more than the extrapolation predicts.
        cheap = (
            thresholds.max_anisotropy_columns
            if tol < thresholds.dense_points_tol
            else RANDOM_FEATURES.cheap_nodes
            if tol < thresholds.loose_tol
            else 0
        )
        if (
            width * self.context.compiled.unknowns < cheap
            or digits < RANDOM_FEATURES.min_extrapolation_digits
        ):
            return 2 * width
        wanted = RANDOM_FEATURES.safety_digits - math.log10(self.context.tol)
        return int(width * min(max(wanted / digits, RANDOM_FEATURES.min_growth), 2.0)) // 2 * 2

    def _width(self, found: Candidate) -> int:
        """Return the number of random features of a candidate."""
        spec: Choice = found.settings["basis"]
        if isinstance(spec, SubdomainSpecs) and spec.waves is not None:
            return spec.waves
        if self.enrichment and isinstance(spec, CompositeSpec):
            return spec.parts[0].size
        # A companion solution has fewer vector functions: count those of the basis itself.
        fields = sum(f.size for f in vector_functions_of(spec))
        return (
            spec.size
            - fields
            - (self.enrichment.size - sum(f.size for f in self.enrichment.vector_functions))
        )

    @property
    def has_ended(self) -> bool:
        return self.status is not None or self._next_width is None

    @property
    def expected_seconds(self) -> float:
        width, now = self._next_width, self.current
        if now is None or width is None:
            return 0.0
        ratio = (width + self._enrichment_size(self._width_count)) / now.settings["basis"].size
        return float(now.seconds * max(ratio, 1.0) ** RANDOM_FEATURES.work_exponent)

    def is_worthwhile(self, dense_columns: int | None) -> bool:
        width = self._next_width
        if width is None:
            return False
        if dense_columns is not None and self.current is not None:
            columns = self._unknowns * (width + self._enrichment_size(self._width_count))
            if columns > dense_columns:
                return False
        return self.is_near_tolerance or self._converges

    @property
    def _converges(self) -> bool:
        """Whether the tolerance is expected to be met within the node limit."""
        now = self.current
        if now is None:
            return True
        missing = math.log10(max(now.relative_residual, 1e-300) / (0.1 * self.context.tol))
        if missing <= 0 or not self._rate_is_known(now):
            return True
        if self._is_spectral:
            # The number of digits is proportional to the width.
            wanted = RANDOM_FEATURES.safety_digits - math.log10(self.context.tol)
            if wanted / -math.log10(now.relative_residual) * self._width(now) <= self._max_width:
                return True
        if self._width_count < RANDOM_FEATURES.min_widths and self._converges_late:
            return True
        rate = self._digits_per_doubling
        if rate <= 0.3 or not math.isfinite(missing):
            return False
        needed: int = self._width(now) * 2 ** (math.ceil(missing / rate) - 1)
        return needed <= self._max_width

    def _rate_is_known(self, now: Candidate) -> bool:
        """Whether the candidates determine a rate of convergence; less than a doubling does not."""
        if self.context.evolution is not None and not now.relative_residual < 0.1:
            return True
        is_cheap = self.context.compiled.dimension == 1 and self._width(now) < RANDOM_FEATURES.cheap_nodes
        return self._has_doubled and not is_cheap

    @property
    def _converges_late(self) -> bool:
        """Whether the residual decreases only once the random features resolve the smooth part.

        Around holes and at corners of systems few of them represent it.
        """
        return bool(self.enrichment.hole_functions) or (
            bool(self.enrichment.vector_functions) and self.enrichment.is_essential
        )

    @property
    def _has_doubled(self) -> bool:
        """Whether the last candidate is twice as wide as the first, up to rounding to pairs."""
        return (
            len(self._width_history) > 1 and self._width_history[-1][0] >= 2 * self._width_history[0][0] - 4
        )

    @property
    def _digits_per_doubling(self) -> float:
        """Digits gained per doubling of the width, since the last candidate of at most half the width.

        A width ratio of 1.3 is too small for that: in a ball with Robin conditions widths of 224, 290 and 376
        leave 1.9e-5, 5.0e-7 and 5.7e-7, and 488 are enough for 1e-6.
        """
        *before, (width, left) = self._width_history
        halved = [pair for pair in before if 2 * pair[0] <= width + 4] or before[:1]
        if not halved:
            return 0.0
        first, had = halved[-1]
        return math.log10(max(had, 1e-300) / max(left, 1e-300)) / max(math.log2(width / first), 0.5)

    @property
    def _is_spectral(self) -> bool:
        """Whether the number of digits grows in proportion to the width, or faster."""
        if self.previous is None or self.current is None:
            return False
        before, after = (-math.log10(max(a.relative_residual, 1e-300)) for a in (self.previous, self.current))
        return before > RANDOM_FEATURES.min_spectral_digits and after / before > 0.9 * self._width(
            self.current
        ) / self._width(self.previous)

    def advance(self) -> None:
        nodes = self._next_width
        assert nodes is not None
        was_near_tolerance = self.is_near_tolerance
        self._width_count += 1
        now = self._compute(self.family, nodes, self.current)
        if self._width_count <= RANDOM_FEATURES.share_selection_widths:
            now = self._select_share(now, nodes)
        thresholds = self.context.thresholds
        if self.current is not None and now.relative_residual > max(
            self._residual_at_ratio(thresholds.max_slow_ratio, now, self.current), 1e-7
        ):
            now = self._select_anisotropy(now, nodes)
        self._before_previous, self.previous, self.current = self.previous, self.current, now
        self.residual_history.append(now.relative_residual)
        self._width_history.append((self._width(now), now.relative_residual))
        if self.best is None or now.relative_residual < self.best.relative_residual:
            self.best = now
        self._validate(ending=was_near_tolerance)

    def _is_rounding_limited(self, now: Candidate, last: Candidate) -> bool:
        """Whether more functions gain nothing at a residual that is explained by rounding."""
        thresholds = self.context.thresholds
        return (
            thresholds.rounding_residual
            > now.relative_residual
            > self._residual_at_ratio(thresholds.max_flat_ratio, now, last)
        )

    def _residual_at_ratio(self, share: float, now: Candidate, last: Candidate) -> float:
        """Return the residual expected if each doubling left ``share`` of the previous residual."""
        return float(share ** math.log2(self._width(now) / self._width(last)) * last.relative_residual)

    def _compute(
        self,
        family: RandomFeatureFamily | SubdomainFamily,
        nodes: int,
        start: Candidate | None,
        shrink: float = 1.0,
        *,
        with_conditioning: bool = False,
        validate: bool = True,
    ) -> Candidate:
        self._key += 1
        enrichment = (
            self.enrichment.at_refinement(self._width_count - 1) if self.enrichment else self.enrichment
        )
        spec = self._spec(family, nodes, shrink, enrichment)
        context = replace(self.context, enrichment=enrichment) if self.enrichment else self.context
        found = compute_candidate(
            context, spec, self.points, self.method, self._key, start, self.guess,
            with_conditioning=with_conditioning, validate=validate,
            skip_continuation=self.context.evolution is not None, newton=self.newton,
        )  # fmt: skip
        if validate:
            self.report(found)
        return found

    def _select_share(self, now: Candidate, nodes: int) -> Candidate:
        """Select the share of functions of few coordinates with the smallest held-out residual."""
        d = self.context.compiled.dimension
        groups = (
            coupled_coordinates(self.context.compiled, self.context.domain, self.context.box) if d > 3 else ()
        )
        for other in self.family.alternatives(groups):
            if now.relative_residual < self.context.tol or not self.budget.fits(now.seconds):
                break
            found = self._compute(other, nodes, now)
            if found.relative_residual < self.context.thresholds.max_anisotropy_ratio * now.relative_residual:
                self.family, now = other, found
        return now

    def _spec(
        self, family: RandomFeatureFamily | SubdomainFamily, nodes: int, shrink: float, enrichment: Enrichment
    ) -> Choice:
        """Return random features with singular functions."""
        spec = family.spec(nodes, shrink)
        if self.context.subdomains is not None:
            return self.context.subdomains.with_enrichment(cast("SubdomainSpecs", spec), shrink, enrichment)
        return enrichment.added_to(spec, shrink)

    def _select_anisotropy(self, now: Candidate, nodes: int) -> Candidate:
        """Select the anisotropy with the smallest held-out residual at this width."""
        columns = (nodes + self._enrichment_size(self._width_count - 1)) * self.context.compiled.unknowns
        if columns > self.context.thresholds.max_anisotropy_columns:
            return now
        candidates = self.family.neighbours()
        for _ in range(RANDOM_FEATURES.max_anisotropy_steps):
            if not candidates or not self.budget.fits(len(candidates) * now.seconds):
                break
            found = [(other, self._compute(other, nodes, now)) for other in candidates]
            chosen, result = min(found, key=lambda pair: pair[1].relative_residual)
            if (
                not result.relative_residual
                < self.context.thresholds.max_anisotropy_ratio * now.relative_residual
            ):
                break
            # Continue in the direction that reduced the residual.
            candidates = chosen.extrapolated(self.family.anisotropy)
            self.family, now = chosen, result
        return now

    def finalize(self) -> None:
        if self.current is not None and self.current is self.best and self._compared is not self.best:
            self._validate(ending=True)
        self.finalize_from_history()

    def finalize_from_history(self) -> None:
        """Bound the error by the last change, which is larger than the error while candidates improve."""
        best, thresholds = self.best, self.context.thresholds
        if (
            best is None
            or self._compared is best
            or best.relative_residual > thresholds.max_solution_residual
        ):
            return
        before = [
            a for a in self.recent if best.relative_residual < thresholds.max_slow_ratio * a.relative_residual
        ]
        if before:
            last = min(before, key=lambda a: a.relative_residual)
            error = compare(
                best.function, last.function, self.context.compiled.unknowns, self.context.comparison_points
            )
            error = with_lower_bound(
                error, condition_errors(self.context, best.residuals), self.context.rounding(best.magnitudes)
            )
            self.error, self._compared = min(self.error, error, key=lambda e: e.max), best

    def _validate(self, ending: bool = False) -> None:
        """Decide whether the current candidate is final, by a companion solution if it is promising."""
        now, last = self.current, self.previous
        assert now is not None
        if self._is_contradictory(now, last):
            self.status = Status.NO_SOLUTION
            return
        if self._has_free_direction(now):
            self.status = Status.UNDETERMINED
            return
        at_limit = self._next_width is None or ending
        has_stagnated = self._has_stagnated(now, last)
        if not self._is_worth_comparing(now, last, at_limit, has_stagnated):
            return
        comparison = self._comparison(now, last, has_stagnated)
        if not self._can_repeat(comparison.candidate):
            return
        second, error = self._companion(comparison)
        earlier = self.error, self._compared
        self.error = error
        self.best = self._compared = (
            comparison.candidate
            if comparison.candidate.relative_residual <= 2.0 * second.relative_residual
            else second
        )
        self.report(self.best, self.relative_error(self.best, error))
        self._conclude(comparison, second, at_limit, earlier)

    def _can_repeat(self, found: Candidate) -> bool:
        """Whether there is time for another candidate as large as this one."""
        return not self.context.compiled.is_linear or self.budget.fits(found.seconds)

    def _is_worth_comparing(
        self, now: Candidate, last: Candidate | None, at_limit: bool, has_stagnated: bool
    ) -> bool:
        """Whether a companion solution is computed: at the end, or if it is likely to agree."""
        if at_limit or has_stagnated:
            return True
        return self._resolves_homogeneous_waves(now) and (
            (last is not None and (self._is_rounding_limited(now, last) or self._is_settled(now, last)))
            or self._is_promising(now, last)
        )

    def _is_settled(self, now: Candidate, last: Candidate) -> bool:
        """Whether the residual stagnates at corners of systems, where it does so before the error does."""
        thresholds = self.context.thresholds
        return bool(self.enrichment.vector_functions) and (
            self._residual_at_ratio(thresholds.max_flat_ratio, now, last)
            < now.relative_residual
            < thresholds.max_resolved_residual
        )

    def _comparison(self, now: Candidate, last: Candidate | None, has_stagnated: bool) -> _Comparison:
        """Return the candidate whose error is estimated: the best one if the residual has stagnated."""
        is_flat = last is not None and self._is_rounding_limited(now, last)
        if not has_stagnated or self.best is None:
            decrease = 1.0 if last is None else now.relative_residual / max(last.relative_residual, 1e-300)
            return _Comparison(now, last, min(1.0, decrease), is_flat, last is None)
        best, narrower = self.best, self._before_previous
        is_flat = is_flat or best.relative_residual < self.context.thresholds.max_resolved_residual
        if best is last and narrower is not None and self.enrichment.vector_functions:
            # With functions of junctions the narrower candidate is the better comparison.
            decrease = best.relative_residual / narrower.relative_residual
            return _Comparison(best, narrower, min(1.0, decrease), is_flat)
        return _Comparison(best, now if best is not now else last, 1.0, is_flat)

    def _companion(self, comparison: _Comparison) -> tuple[Candidate, ErrorEstimate]:
        """Return a companion solution, and the error estimated from the difference."""
        context, now, other = self.context, comparison.candidate, comparison.other
        thresholds = context.thresholds
        # For a loose tolerance that the first candidate meets, the companion is not validated.
        validate = (
            not thresholds.rounding_residual < now.relative_residual < context.tol
            or context.tol < thresholds.loose_tol
        )
        second = self._compute(
            self.family,
            self._width(now),
            now,
            thresholds.companion_scale,
            with_conditioning=True,
            validate=validate,
        )
        chosen = not comparison.is_first or validate or bool(self.enrichment)
        error = compare_candidates(context, now, second, chosen=chosen)
        if context.subdomains is not None and other is not None:
            # The error at a corner of an interface is the same in both; another width shows it.
            change = compare(
                now.function,
                other.function,
                len(error.each),
                context.comparison_points,
                thresholds.safety_factor * comparison.decrease,
            )
            error = max(error, change, key=lambda e: e.max)
        self._record_rounding(second)
        return second, with_lower_bound(
            error, condition_errors(context, now.residuals), context.rounding(now.magnitudes)
        )

    def _conclude(
        self,
        comparison: _Comparison,
        second: Candidate,
        at_limit: bool,
        earlier: tuple[ErrorEstimate, Candidate | None],
    ) -> None:
        """Set the status after a comparison, if it is final; ``earlier`` is the previous comparison."""
        now, best = comparison.candidate, self.best
        assert best is not None
        if self._is_undetermined(now, second):
            self.status = Status.NO_SOLUTION if self._is_inconsistent(now) else Status.UNDETERMINED
        elif comparison.is_first and second.conditioning.stability_constant < 1e-3 and not at_limit:
            return  # the first width: compare again at the next
        elif (
            self.meets_tolerance(best, self.error)
            and now.relative_residual < self.context.thresholds.max_solution_residual
        ):
            self.status = Status.TOLERANCE
            error, narrower = earlier
            if (
                narrower is not None
                and error.max < self.error.max
                and narrower.relative_residual < best.relative_residual
            ):
                # Rounding of high derivatives grows with the width: keep the narrower, compared candidate.
                self.error, self.best, self._compared = error, narrower, narrower
        elif comparison.is_flat:
            self.status = Status.ROUNDING_LIMIT

    def _is_inconsistent(self, now: Candidate) -> bool:
        """Whether an undetermined candidate has a part that no data explain, although nothing is missing.

        A missing boundary or initial condition makes the problem underdetermined, not inconsistent.
        """
        context = self.context
        unexplained = unexplained_share(context, *now.function, now.residuals)
        every = [(r.region, r.derivatives) for r in context.compiled.residuals]
        condition_regions = [region for region, _ in every if not region.is_interior]
        return (
            unexplained > context.thresholds.max_solution_residual
            and not parts_without_condition(context.domain, condition_regions)
            and not missing_initial_conditions(context.domain, every)
        )

    def _resolves_homogeneous_waves(self, now: Candidate) -> bool:
        """Whether waves that solve the homogeneous equations are resolved, where that is cheap.

        A multiple of sin(20πx) in a solution of u'' + (20π)²u = f is not visible to 32 functions.
        """
        d, own = self.context.compiled.dimension, self.context.shortest_homogeneous_wave
        if (
            self.enrichment
            or self.context.subdomains is not None
            or own > scale_for("waves", RANDOM_FEATURES.max_wave_nodes, d)
        ):
            return True  # not tested with singular functions or on subdomains, or too expensive to resolve
        return own <= scale_for("waves", self._width(now), d)

    def _record_rounding(self, second: Candidate) -> None:
        """Record the effect of rounding on the solution for all strategies."""
        if (
            second.relative_residual < self.context.thresholds.max_resolved_residual
            and second.magnitudes.all()
        ):
            self.context.rounding_shifts.append(second.conditioning.rounding / second.magnitudes)

    def _has_stagnated(self, now: Candidate, last: Candidate | None) -> bool:
        """Whether a doubling gained nothing on subdomains, or increased the residual otherwise.

        Rounding of a sixth derivative grows with the width: the narrower solution is then better. On
        subdomains no other strategy is available.
        """
        if last is None:
            return False
        thresholds = self.context.thresholds
        if self.context.subdomains is None:
            has_lost_accuracy = last.relative_residual < min(
                thresholds.max_resolved_residual, thresholds.max_slow_ratio * now.relative_residual
            )
            return last is self.best and has_lost_accuracy and now.relative_residual > self.context.tol
        return now.relative_residual > thresholds.max_flat_ratio * last.relative_residual

    @property
    def is_conclusive(self) -> bool:  # type: ignore[override]
        """Whether there are several subdomains, which no other strategy supports."""
        return self.context.subdomains is not None and len(self.context.subdomains.subdomains) > 1

    def _is_contradictory(self, now: Candidate, last: Candidate | None) -> bool:
        """Whether the function is the same at every width, with a large residual everywhere.

        An unresolved function changes with the width, or has a large residual in a few places; narrow data
        have many such places.
        """
        thresholds = self.context.thresholds
        linear = self.context.compiled.is_linear and not len(self.context.narrow_data_points)
        if last is None or not linear or now.relative_residual < thresholds.min_contradiction_residual:
            self._unchanged_count = 0
            return False
        same = are_same_function(now, last, thresholds.max_unchanged)
        self._unchanged_count = self._unchanged_count + 1 if same else 0
        return self._unchanged_count >= 2

    def _is_promising(self, now: Candidate, last: Candidate | None) -> bool:
        """Whether a companion solution is likely to agree within the tolerance."""
        thresholds, tol = self.context.thresholds, self.context.tol
        if last is None:
            # Zero solves every problem without data, also eigenvalue problems: a second width is needed.
            return (
                now.magnitudes.max() > 0
                and now.relative_residual < thresholds.first_width_residual[tol >= thresholds.loose_tol] * tol
            )
        columns = now.settings["basis"].size * self.context.compiled.unknowns
        if columns > thresholds.max_anisotropy_columns and now.relative_residual < 0.1 * tol:
            return True  # a wider candidate costs more than a comparison
        # Agreement proves nothing while the equations do not hold: both may be at a local minimum.
        enough = max(
            thresholds.max_resolved_residual, min(10.0 * tol, 0.1 * thresholds.max_solution_residual)
        )
        falling = now.relative_residual < min(0.3 * last.relative_residual, thresholds.max_solution_residual)
        if not (now.relative_residual < enough or falling):
            return False
        difference = now.values - last.values
        change = error_from_difference(
            difference,
            difference,
            now.magnitudes,
            self.context.comparison_at_held_out,
            thresholds.safety_factor,
        )
        fall = min(1.0, now.relative_residual / last.relative_residual if last.relative_residual > 0 else 1.0)
        return self.relative_error(now, change) * fall <= tol

    def _is_undetermined(self, now: Candidate, second: Candidate) -> bool:
        """Whether the equations hold for more than one function."""
        thresholds = self.context.thresholds
        if max(now.relative_residual, second.relative_residual) > thresholds.rounding_residual:
            return False
        if np.any(
            np.abs(now.values - second.values).max(axis=1)
            > thresholds.min_solution_difference * self.scales(now)
        ):
            return True
        if second.conditioning.stability_constant > thresholds.min_stability:
            return False
        if second.conditioning.stability_constant < thresholds.zero_stability:
            return True
        # Near a resonance the stability constant is small at every width; if a condition is missing, it
        # decreases to rounding. In rows of unit length, dominated by a derivative of order m, other terms
        # scale as R^-m.
        width, d = self._width(now), self.context.compiled.dimension
        half = self._compute(
            self.family, max(width // 2, 2), now, thresholds.companion_scale, with_conditioning=True
        )
        narrower = scale_for("waves", self._width(half), d) / scale_for("waves", width, d)
        usual = half.conditioning.stability_constant * narrower**self.context.compiled.order
        # The comparison is valid only if half as many functions solve the equations too.
        return (
            half.relative_residual < thresholds.rounding_residual
            and second.conditioning.stability_constant < thresholds.max_stability_decay * usual
        )

    def _has_free_direction(self, now: Candidate) -> bool:
        """Whether a nonlinear solve ended at a function with zero stability constant, in two bases.

        Along a family of solutions Newton's method does not converge to rounding.
        """
        zero_stability, width = (
            self.context.thresholds.zero_stability,
            min(2 * self._width(now), self._max_width),
        )
        if now.conditioning.stability_constant > zero_stability or not self._can_repeat(now):
            return False
        other = self._compute(
            self.family, width, now, self.context.thresholds.companion_scale, with_conditioning=True
        )
        return other.conditioning.stability_constant < zero_stability
