r"""Equations in flux form ∇·(k ∇u) = Σᵢ ∂ᵢ(k ∂ᵢu): `div`, `grad` and unevaluated derivatives.

Where k jumps, k ∂ₙu is continuous, which the expanded form k ∂ₙₙu + … does not imply. SymPy expands
``(k*u.diff(x)).diff(x)`` at once; `div`, `grad` and ``sympy.Derivative(k*u.diff(x), x)`` stay unevaluated
until a problem is constructed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.arrays import MultiIndex
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Expression, Unknown
from pibls.problem.forms.checks import is_scalar
from pibls.problem.interfaces.switches import SWITCHING_FUNCTIONS


class grad(sp.Function):  # type: ignore[misc]  # noqa: N801 - written in equations, like sp.sin
    """The gradient ∇f with respect to the space coordinates, for use inside `div`."""

    nargs = 1


class Divergence(sp.Function):  # type: ignore[misc]
    """Unevaluated divergence ∇·v, made by `div`; the coordinates are those of the problem."""


def div(vector: Expression) -> Expression:
    """Divergence ∇·v = Σᵢ ∂vᵢ/∂xᵢ with respect to the space coordinates, in flux form.

    Parameters
    ----------
    vector
        A multiple of `grad`, such as ``k*grad(u)``, or a sum of these; or one expression for each
        space coordinate: ``[k*u.diff(x), u.diff(y)]``.

    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> u = sp.Function("u")(x, y)
    >>> div((1 + x) * grad(u))
    Divergence((x + 1)*grad(u(x, y)))
    """
    many = isinstance(vector, (sp.MatrixBase, sp.Tuple, Sequence)) and not isinstance(vector, str)
    parts = [sp.sympify(v) for v in vector] if many else [vector]
    bad = [p for p in parts if not is_scalar(p)]
    if bad or not parts or (many and any(p.has(grad) for p in parts)):
        raise ProblemError(
            "div(vector)",
            expected="a multiple of grad(u), or one expression for each coordinate in space",
            got=repr(vector),
            remedy="Write div(k*grad(u)), or div([k1*u.diff(x), k2*u.diff(y)]).",
        )
    return Divergence(*parts)


def expand_divergence(expression: Expression, space: Sequence[Coordinate], name: str) -> Expression:
    """Replace each div by a sum of unevaluated derivatives with respect to the space coordinates."""
    if not expression.has(Divergence, grad):
        return expression
    out = expression.replace(Divergence, lambda *parts: _divergence(parts, space, name))
    if out.has(grad, Divergence):
        raise ProblemError(
            name,
            expected="grad(…) inside div(…)",
            got=sorted(out.atoms(grad, Divergence), key=str)[0],
            remedy="Write the derivatives explicitly: u.diff(x)**2 + u.diff(y)**2 is |∇u|².",
        )
    return out


def _divergence(parts: Sequence[Expression], space: Sequence[Coordinate], name: str) -> Expression:
    if len(parts) == 1 and parts[0].has(grad):
        components = [_component(parts[0], c, name) for c in space]
    else:
        components = list(parts)
    if len(components) != len(space):
        raise ProblemError(
            name,
            expected=f"{len(space)} component(s) in div(…), one for each of {tuple(space)}",
            got=f"{len(components)}",
            remedy="Time is not a component: write div(k*grad(u)), or one component for each coordinate.",
        )
    return sp.Add(*(sp.Derivative(f, c) for f, c in zip(components, space, strict=True)))


def _component(vector: Expression, c: Coordinate, name: str) -> Expression:
    """Return the component of a sum of multiples of gradients along one coordinate."""
    stand_ins = {g: sp.Dummy() for g in vector.atoms(grad)}
    plain = vector.xreplace(stand_ins)
    marks = set(stand_ins.values())
    none = plain.xreplace(dict.fromkeys(marks, sp.Integer(0)))
    if sp.expand(none) != 0 or any(sp.diff(plain, m).free_symbols & marks for m in marks):
        raise ProblemError(
            name,
            expected="a vector in div(…): a sum of multiples of grad(…)",
            got=vector,
            remedy="Write each component: div([a, b]).",
        )
    # Arguments of grad are differentiated, unless they may jump.
    return vector.replace(
        grad, lambda f: sp.Derivative(f, c) if f.has(*SWITCHING_FUNCTIONS) else sp.diff(f, c)
    )


def outermost_derivatives(expression: Expression) -> list[Expression]:
    """Return the distinct outermost unevaluated derivatives of expressions other than an unknown."""
    return list(dict.fromkeys(_outermost(expression)))


def find_fluxes(expression: Expression) -> list[Expression]:
    """Return the outermost derivatives that contain an unknown or a function that may jump."""
    return [
        f for f in outermost_derivatives(expression) if f.atoms(AppliedUndef) or f.has(*SWITCHING_FUNCTIONS)
    ]


def _outermost(e: Expression) -> Iterator[Expression]:
    if isinstance(e, sp.Derivative) and not isinstance(e.expr, AppliedUndef):
        yield e
        return
    for part in e.args:
        yield from _outermost(part)


Orders = Mapping[Unknown, tuple[MultiIndex, int]]
"""For each unknown, its highest order in each coordinate and its highest total order."""


def derivative_orders(expressions: Iterable[Expression], coordinates: Sequence[Coordinate]) -> Orders:
    """Return the orders of the unknowns in a system of equations."""
    found: dict[Unknown, tuple[MultiIndex, int]] = {}

    def visit(e: Expression, outer: MultiIndex) -> None:
        if isinstance(e, sp.Derivative):
            counts = {c: int(n) for c, n in e.variable_count if n.is_Integer}
            own = (counts.get(c, 0) for c in coordinates)
            visit(e.expr, tuple(n + m for n, m in zip(outer, own, strict=True)))
        elif isinstance(e, AppliedUndef):
            each, total = found.get(e, ((0,) * len(outer), 0))
            most = tuple(max(n, m) for n, m in zip(each, outer, strict=True))
            found[e] = most, max(total, sum(outer))
        else:
            for part in e.args:
                visit(part, outer)

    for e in expressions:
        visit(e, (0,) * len(coordinates))
    return found


_PIECEWISE_CONSTANT = (sp.floor, sp.ceiling, sp.sign, sp.Heaviside)


def evaluate_flux(term: Expression) -> Expression:
    """Evaluate ∂F where F is smooth; jumps of F contribute nothing."""
    out = term.expr.xreplace({d: evaluate_flux(d) for d in outermost_derivatives(term.expr)})
    out = out.replace(sp.frac, lambda g: g - sp.floor(g)).replace(
        sp.Mod, lambda a, b: a - b * sp.floor(a / b)
    )
    for c in term.variables:
        constants = {e: sp.Dummy() for e in out.atoms(*_PIECEWISE_CONSTANT) if not e.atoms(AppliedUndef)}
        out = sp.diff(out.xreplace(constants), c).xreplace({d: e for e, d in constants.items()})
    return out
