r"""∇·(k ∇u) = Σᵢ ∂ᵢ(k ∂ᵢu): what stands under an outer derivative stays together.

Where k jumps, k ∂ₙu is continuous, and k ∂ₙₙu + … says nothing about it. SymPy evaluates
``(k*u.diff(x)).diff(x)`` at once; `div`, `grad` and ``sympy.Derivative(k*u.diff(x), x)`` are left as they
stand until the problem reads them here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.arrays import MultiIndex
from pibls.errors import ProblemError
from pibls.problem.forms.checks import is_scalar
from pibls.problem.interfaces.switches import SWITCHING


class grad(sp.Function):  # type: ignore[misc]  # noqa: N801 - written in equations, like sp.sin
    """∇f over the coordinates in space, for use inside `div`."""

    nargs = 1


class Divergence(sp.Function):  # type: ignore[misc]
    """∇·v before the problem has said what its coordinates are; made by `div`."""


def div(vector: Any) -> Any:
    """∇·v = Σᵢ ∂vᵢ/∂xᵢ over the coordinates in space, kept as a flux.

    Parameters
    ----------
    vector
        A multiple of `grad`, such as ``k*grad(u)``, or a sum of such; or one expression for each
        coordinate in space: ``[k*u.diff(x), u.diff(y)]``.

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


def written_out(expression: Any, space: Sequence[Any], name: str) -> Any:
    """An expression with each div as a sum of unevaluated derivatives by the coordinates in space."""
    if not expression.has(Divergence, grad):
        return expression
    out = expression.replace(Divergence, lambda *parts: _divergence(parts, space, name))
    if out.has(grad, Divergence):
        raise ProblemError(
            name,
            expected="grad(…) inside div(…)",
            got=sorted(out.atoms(grad, Divergence), key=str)[0],
            remedy="Write the derivatives out: u.diff(x)**2 + u.diff(y)**2 is |∇u|².",
        )
    return out


def _divergence(parts: Sequence[Any], space: Sequence[Any], name: str) -> Any:
    if len(parts) == 1 and parts[0].has(grad):
        components = [_along(parts[0], c, name) for c in space]
    else:
        components = list(parts)
    if len(components) != len(space):
        raise ProblemError(
            name,
            expected=f"{len(space)} component(s) in div(…), one for each of {tuple(space)}",
            got=f"{len(components)}",
            remedy="Time is none of them; write div(k*grad(u)), or each component.",
        )
    return sp.Add(*(sp.Derivative(f, c) for f, c in zip(components, space, strict=True)))


def _along(vector: Any, c: Any, name: str) -> Any:
    """The component of a sum of multiples of gradients along one coordinate."""
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
    # Of u + x each has its derivative; what jumps stays under it.
    return vector.replace(grad, lambda f: sp.Derivative(f, c) if f.has(*SWITCHING) else sp.diff(f, c))


def fluxes_in(expression: Any) -> list[Any]:
    """The outermost unevaluated derivatives of more than an unknown, ∂(k ∂u), each once."""
    return list(dict.fromkeys(_outermost(expression)))


def given_fluxes(expression: Any) -> list[Any]:
    """Those of `fluxes_in` that hold an unknown or something that jumps."""
    return [f for f in fluxes_in(expression) if f.atoms(AppliedUndef) or f.has(*SWITCHING)]


def _outermost(e: Any) -> Iterator[Any]:
    if isinstance(e, sp.Derivative) and not isinstance(e.expr, AppliedUndef):
        yield e
        return
    for part in e.args:
        yield from _outermost(part)


Orders = Mapping[Any, tuple[MultiIndex, int]]
"""For each unknown its highest order by each coordinate, and in all."""


def orders_in(expressions: Iterable[Any], coordinates: Sequence[Any]) -> Orders:
    """The orders of the unknowns in a system of equations."""
    found: dict[Any, tuple[MultiIndex, int]] = {}

    def visit(e: Any, outer: MultiIndex) -> None:
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


_FLAT = (sp.floor, sp.ceiling, sp.sign, sp.Heaviside)


def expanded(term: Any) -> Any:
    """∂F by the rules of calculus inside each smooth piece: what jumps in F has no derivative there."""
    out = term.expr.xreplace({d: expanded(d) for d in fluxes_in(term.expr)})
    out = out.replace(sp.frac, lambda g: g - sp.floor(g)).replace(
        sp.Mod, lambda a, b: a - b * sp.floor(a / b)
    )
    for c in term.variables:
        held = {e: sp.Dummy() for e in out.atoms(*_FLAT) if not e.atoms(AppliedUndef)}
        out = sp.diff(out.xreplace(held), c).xreplace({d: e for e, d in held.items()})
    return out
