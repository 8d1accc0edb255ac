r"""[u] = 0, [n·F] = 0: what holds where coefficients or sources jump on any surface.

On an interface between two pieces (`materials`), with the normal n,

- every unknown and its normal derivatives are continuous up to the last but one order: ∂ₙʲ u, j ≤ M - 2;
- each equation, integrated across, says one thing more: n·F is continuous, with F what it keeps under its
  outer derivatives, and its other highest derivatives a ∂^α u as n_c a ∂^(α - e_c) u;
- of k ∇u = q with a k that jumps and u of first order, u is continuous.

So -∇·(k∇u) = f gives u and k ∂ₙu; Δu = f with a source that jumps, u and ∂ₙu; Stokes' equations in flux form
the velocities and the traction, and leave the pressure free to jump.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import factorial, prod
from typing import Any

import sympy as sp

from pibls.errors import ProblemError
from pibls.problem.forms.calling import Datum
from pibls.problem.forms.form import Form, Jet, Variables


def continuity(
    forms: Sequence[Form], laws: Sequence[Sequence[tuple[Form, ...]]], pair: tuple[int, int], unknowns: int,
    language: Any,
) -> list[Form]:  # fmt: skip
    """What is continuous between two pieces, as statements about the unknowns of both."""
    variables = forms[0].variables
    order = orders_of(forms, unknowns)
    out, smooth = [], {k: most - 1 for k, most in enumerate(order)}
    for i, form in enumerate(forms):
        parts: list[tuple[Any, int, Form]] = []
        axes = [f.axis for f in form.fluxes]
        if len(set(axes)) != len(axes):
            raise ProblemError(
                form.name,
                expected="at most one flux along each coordinate, where it jumps on a curved surface",
                got=f"{len(axes)} of them",
                remedy="Write one divergence, pibls.div(k*pibls.grad(u)), with all that stands under it.",
            )
        if len(axes) > 1 and any(f.alone for f in form.fluxes):
            raise ProblemError(
                form.name,
                expected="the same factor in front of all fluxes, or smooth ones, on a curved surface",
                got="factors that differ and jump, or depend on the solution",
                remedy="Divide the equation by them, or write pibls.div(k*pibls.grad(u)) with them in k.",
            )
        jumping = _jumping_first_order(laws[0][i][-1], laws[1][i][-1], order)
        smooth.update(dict.fromkeys((jet.unknown for jet in jumping), 1))
        for side, sign in ((0, sp.Integer(1)), (1, sp.Integer(-1))):
            *fluxes, outside = laws[side][i]
            outside = replace(outside, linear=tuple(p for p in outside.linear if p[0] not in jumping))
            parts += [(sign * variables.normals[a], side, f) for a, f in zip(axes, fluxes, strict=True)]
            parts += _lowered(outside, sign, side, order, axes, variables.normals, smooth)
        name = "flux" if len(forms) == 1 else f"flux of {form.name}"
        made = _sum(f"{name} across the interface", parts, pair, unknowns, form)
        if made.jets:
            out.append(made)
    return [*out, *_normal_derivatives(smooth, variables, pair, unknowns, language)]


def along_seam(forms: Sequence[Form], pair: tuple[int, int], unknowns: int, language: Any) -> list[Form]:
    """∂ₙʲ u, j < M, between two pieces in which the same laws hold: nothing is to be seen there."""
    smooth = dict(enumerate(orders_of(forms, unknowns)))
    return _normal_derivatives(smooth, forms[0].variables, pair, unknowns, language)


def orders_of(forms: Sequence[Form], unknowns: int) -> list[int]:
    """The highest order of each unknown."""
    return [
        max((sum(j.alpha) for f in forms for j in f.jets if j.unknown == k), default=0)
        for k in range(unknowns)
    ]


def _jumping_first_order(below: Form, above: Form, order: Sequence[int]) -> set[Jet]:
    """a ∂u with u of first order and an a that differs on the two sides: it is u that is continuous."""
    sides = [dict(form.linear) for form in (below, above)]
    jets = {jet for side in sides for jet in side if sum(jet.alpha) == order[jet.unknown] == 1}
    return {jet for jet in jets if sides[0].get(jet, 0) != sides[1].get(jet, 0)}


def _normal_derivatives(
    smooth: Mapping[int, int], variables: Variables, pair: tuple[int, int], unknowns: int, language: Any
) -> list[Form]:
    """∂ₙʲ u_k is the same on both sides, j < smooth[k]."""
    out, d = [], len(variables.coordinates)
    for k, most in smooth.items():
        for j in range(most):
            linear = [
                (Jet(p * unknowns + k, beta), sign * factor)
                for beta, factor in normal_derivative(j, d, variables.normals)
                for p, sign in zip(pair, (1, -1), strict=True)
            ]
            name = str(language.unknowns[k].func) + (f", normal derivative {j}," if j else "")
            out.append(Form(f"{name} across the interface", variables, tuple(linear), (), sp.Integer(0)))
    return out


def _lowered(
    form: Form, sign: Any, side: int, order: Sequence[int], axes: Sequence[int], normals: Sequence[Any],
    smooth: dict[int, int],
) -> list[tuple[Any, int, Form]]:  # fmt: skip
    """n_c a ∂^(α - e_c) u for the highest derivatives outside of fluxes; those beside a flux are in it."""
    out = []
    for jet, a in form.linear:
        highest = sum(jet.alpha) == order[jet.unknown] > 0
        if highest and not any(jet.alpha[c] for c in axes):
            c = next(i for i, n in enumerate(jet.alpha) if n)
            lower = replace(jet, alpha=tuple(n - (i == c) for i, n in enumerate(jet.alpha)))
            part = replace(form, linear=((lower, a),), nonlinear=(), partials=(), rest=sp.Integer(0))
            out.append((sign * normals[c], side, part))
    for jet, _ in form.nonlinear:
        # a(u, ∇u) ∂^α u: a is continuous, since what it depends on is.
        if sum(jet.alpha) == order[jet.unknown] > 0 and not any(jet.alpha[c] for c in axes):
            smooth[jet.unknown] = order[jet.unknown]
    return out


def _sum(
    name: str, parts: Sequence[tuple[Any, int, Form]], pair: tuple[int, int], unknowns: int, like: Form
) -> Form:
    """Σ factor · form, each form in the unknowns of its side."""
    linear: dict[Jet, Any] = {}
    nonlinear, partials, data = [], [], []
    rest: Any = sp.Integer(0)
    for number, (factor, side, form) in enumerate(parts):
        names = {s: sp.Symbol(f"pibls_i{number}_{n}", real=True) for n, (_, s) in enumerate(form.nonlinear)}
        for n, datum in enumerate(form.data):
            names[datum.symbol] = sp.Symbol(f"pibls_w{number}_{n}", real=True)
            data.append(Datum(names[datum.symbol], datum.function, datum.arguments, datum.name))

        def own(jet: Jet, side: int = side) -> Jet:
            return replace(jet, unknown=pair[side] * unknowns + jet.unknown)

        for jet, a in form.linear:
            linear[own(jet)] = linear.get(own(jet), 0) + factor * a.xreplace(names)
        for (jet, s), p in zip(form.nonlinear, form.partials, strict=True):
            nonlinear.append((own(jet), names[s]))
            partials.append(factor * p.xreplace(names))
        rest += factor * form.rest.xreplace(names)
    kept = tuple((jet, a) for jet, a in linear.items() if a != 0)
    return Form(name, like.variables, kept, tuple(nonlinear), rest, tuple(data), tuple(partials))


def normal_derivative(j: int, d: int, normals: Sequence[Any]) -> list[tuple[tuple[int, ...], Any]]:
    """∂ₙʲ = Σ j!/β! n^β ∂^β."""
    out = []
    for beta in product(range(j + 1), repeat=d):
        if sum(beta) == j:
            times = factorial(j) // prod(map(factorial, beta))
            out.append((beta, times * sp.Mul(*(n**b for n, b in zip(normals, beta, strict=True)))))
    return out
