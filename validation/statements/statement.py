"""A problem as a new user would state it, with a reference for each unknown.

And its entry in the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import sympy as sp

from validation.entry import Entry
from validation.statements.points import points_in
from validation.statements.recorder import Recorded, Recorder
from validation.statements.types import Array, Lazy, Reference, References

if TYPE_CHECKING:
    import pibls

GROUPS = ("ode", "bvp", "elliptic", "plane", "shape", "evolution", "solid", "ill-posed")
Further = tuple[References, References, float]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One problem, its references, and what is known about both."""

    name: str
    group: str
    field: str
    source: str
    state: Callable[[Any], Any]
    """States the problem with the module that offers the language: `pibls` or the recorder."""
    reference: References
    accuracy: float
    tags: tuple[str, ...]
    tol: float
    expected: str
    exact: Mapping[str, sp.Expr]
    second: References
    also: tuple[References, ...]
    """References of further solutions; they have to satisfy the equations."""
    further: Further | None
    """A further solution that is computed twice, and how close both have to be."""
    interfaces: Mapping[str, tuple[float, ...]]
    patch: float
    residual_tol: float
    second_tol: float | None
    extra: Callable[[], float] | None
    """A further defect, which has to be almost zero."""

    @property
    def recorded(self) -> Recorded:
        """The problem as SymPy expressions and plain records, stated without the solver."""
        recorded: Recorded = self.state(Recorder)
        return recorded

    @property
    def has_solution(self) -> bool:
        return self.expected == "converged"

    def build(self) -> pibls.Problem:
        """Return the problem for the solver."""
        import pibls

        problem: pibls.Problem = self.state(pibls)
        return problem

    def alternatives(self) -> Sequence[References]:
        """Return the references of further solutions."""
        return self.also if self.further is None else (*self.also, self.further[0])

    def points(self, problem: pibls.Problem, seed: int) -> Array:
        """Return points (n, d) in the domain, a third of them close to its boundary."""
        recorded = self.recorded
        return np.column_stack(points_in(recorded, 3000 if len(recorded.bounds) < 3 else 1500, seed + 100))

    def verify(self) -> Any:
        """Check the references without the solver."""
        from validation.statements.check import check

        return check(self)

    def entry(self, name_of_set: str) -> Entry:
        """Return the entry of the registry."""
        return Entry(
            name=self.name,
            set=name_of_set,
            build=self.build,
            references=lambda: self.reference,
            tol=self.tol,
            tags=(self.group, self.field, *self.tags),
            has_solution=self.has_solution,
            alternatives=self.alternatives,
            accuracy=self.accuracy,
            points=self.points,
            verify=self.verify,
        )


def numpy_function(expression: sp.Expr, state: Callable[[Any], Any]) -> Reference:
    """Return a NumPy function of the coordinate arrays for a SymPy expression, compiled when first called."""

    @cache
    def compiled() -> Callable[..., Any]:
        function: Callable[..., Any] = sp.lambdify(
            state(Recorder).coordinates, expression, modules=["scipy", "numpy"]
        )
        return function

    def evaluate(*arrays: npt.ArrayLike) -> Array:
        raw = compiled()
        values = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in arrays))
        with np.errstate(all="ignore"):
            result = np.asarray(raw(*values), dtype=float)
        return np.broadcast_to(result, values[0].shape).copy()

    return evaluate


def lazy(make: Lazy, names: Iterable[str]) -> References:
    """Return references that are computed when first called."""
    cached = cache(make)

    def reference(name: str) -> Reference:
        return lambda *c: np.asarray(cached()[name](*c), dtype=float)

    return {name: reference(name) for name in names}


def stated(
    group: str,
    field: str,
    source: str,
    *,
    tags: str,
    exact: Mapping[str, sp.Expr] | None = None,
    numeric: Lazy | None = None,
    second: Lazy | None = None,
    unknowns: str = "u",
    accuracy: float = 1e-13,
    tol: float = 1e-8,
    expected: str = "converged",
    also: tuple[Mapping[str, sp.Expr] | Lazy, ...] = (),
    further: tuple[Lazy, Lazy, float] | None = None,
    interfaces: Mapping[str, tuple[float, ...]] | None = None,
    patch: float = 0.02,
    residual_tol: float = 1e-6,
    second_tol: float | None = None,
    extra: Callable[[], float] | None = None,
) -> Callable[[Callable[[Any], Any]], Statement]:
    """Return a decorator that makes a `Statement` of a function, named like the function."""

    def make(state: Callable[[Any], Any]) -> Statement:
        reference: References = {}
        if exact is not None:
            reference = {name: numpy_function(e, state) for name, e in exact.items()}
        elif numeric is not None:
            reference = lazy(numeric, unknowns.split())
        return Statement(
            name=state.__name__.strip("_"),
            group=group,
            field=field,
            source=source,
            state=state,
            reference=reference,
            accuracy=accuracy,
            tags=tuple(tags.split(", ")),
            tol=tol,
            expected=expected,
            exact=dict(exact or {}),
            second=lazy(second, reference) if second is not None else {},
            also=tuple(
                lazy(a, reference) if callable(a) else {n: numpy_function(e, state) for n, e in a.items()}
                for a in also
            ),
            further=(lazy(further[0], reference), lazy(further[1], reference), further[2])
            if further
            else None,
            interfaces=dict(interfaces or {}),
            patch=patch,
            residual_tol=residual_tol,
            second_tol=second_tol,
            extra=extra,
        )

    return make


def statements_of(modules: Iterable[ModuleType]) -> tuple[Statement, ...]:
    """Return the statements of modules, by group."""
    found = [v for module in modules for v in vars(module).values() if isinstance(v, Statement)]
    return tuple(sorted(found, key=lambda statement: GROUPS.index(statement.group)))
