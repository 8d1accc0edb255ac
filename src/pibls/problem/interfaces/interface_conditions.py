r"""Interface conditions [u] = 0, [n·F] = 0 on surfaces where coefficients or sources jump.

On an interface between two subdomains (`decomposition`), with the normal n,

- every unknown and its normal derivatives are continuous up to the last but one order: ∂ₙʲ u, j ≤ M - 2;
- integration of each equation across the interface gives one more condition: n·F is continuous, where F is
  its flux, and other highest derivatives a ∂^α u contribute n_c a ∂^(α - e_c) u;
- for k ∇u = q with a discontinuous k and u of first order, u is continuous.

So -∇·(k∇u) = f gives u and k ∂ₙu; Δu = f with a discontinuous source, u and ∂ₙu; Stokes' equations in flux
form the velocities and the traction, while the pressure may jump.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import factorial, prod
from typing import Any

import sympy as sp

from pibls.errors import ProblemError
from pibls.expressions import Expression
from pibls.problem.forms.data_functions import DataFunction
from pibls.problem.forms.form import Form, InternalSymbols, PartialDerivative


def interface_conditions(
    forms: Sequence[Form], branches: Sequence[Sequence[tuple[Form, ...]]], pair: tuple[int, int],
    unknowns: int, symbols: Any,
) -> list[Form]:  # fmt: skip
    """Return the conditions between two subdomains, as forms in the unknowns of both."""
    variables = forms[0].variables
    order = highest_orders(forms, unknowns)
    out, smooth = [], {k: most - 1 for k, most in enumerate(order)}
    for i, form in enumerate(forms):
        parts: list[tuple[Expression, int, Form]] = []
        axes = [f.axis for f in form.fluxes]
        if len(set(axes)) != len(axes):
            raise ProblemError(
                form.name,
                expected="at most one flux along each coordinate, where it jumps on a curved surface",
                got=f"{len(axes)} of them",
                remedy="Write one divergence, pibls.div(k*pibls.grad(u)), with all terms under it.",
            )
        if len(axes) > 1 and any(f.lacks_factor for f in form.fluxes):
            raise ProblemError(
                form.name,
                expected="the same factor in front of all fluxes, or smooth ones, on a curved surface",
                got="factors that differ and jump, or depend on the solution",
                remedy="Divide the equation by them, or write pibls.div(k*pibls.grad(u)) with them in k.",
            )
        jumping = _jumping_first_order(branches[0][i][-1], branches[1][i][-1], order)
        smooth.update(dict.fromkeys((derivative.unknown for derivative in jumping), 1))
        for side, sign in ((0, sp.Integer(1)), (1, sp.Integer(-1))):
            *fluxes, outside = branches[side][i]
            outside = replace(outside, linear=tuple(p for p in outside.linear if p[0] not in jumping))
            parts += [(sign * variables.normals[a], side, f) for a, f in zip(axes, fluxes, strict=True)]
            parts += _reduced_order_terms(outside, sign, side, order, axes, variables.normals, smooth)
        name = "flux" if len(forms) == 1 else f"flux of {form.name}"
        made = _sum(f"{name} across the interface", parts, pair, unknowns, form)
        if made.derivatives:
            out.append(made)
    return [*out, *_normal_derivatives(smooth, variables, pair, unknowns, symbols)]


def smoothness_conditions(
    forms: Sequence[Form], pair: tuple[int, int], unknowns: int, symbols: Any
) -> list[Form]:
    """Return the continuity of ∂ₙʲ u, j < M, between two subdomains of the same material."""
    smooth = dict(enumerate(highest_orders(forms, unknowns)))
    return _normal_derivatives(smooth, forms[0].variables, pair, unknowns, symbols)


def highest_orders(forms: Sequence[Form], unknowns: int) -> list[int]:
    """Return the highest order of each unknown."""
    return [
        max((sum(j.alpha) for f in forms for j in f.derivatives if j.unknown == k), default=0)
        for k in range(unknowns)
    ]


def _jumping_first_order(below: Form, above: Form, order: Sequence[int]) -> set[PartialDerivative]:
    """Return the derivatives in a ∂u with u of first order and an a that jumps, where u is continuous."""
    sides = [dict(form.linear) for form in (below, above)]
    derivatives = {
        derivative
        for side in sides
        for derivative in side
        if sum(derivative.alpha) == order[derivative.unknown] == 1
    }
    return {
        derivative for derivative in derivatives if sides[0].get(derivative, 0) != sides[1].get(derivative, 0)
    }


def _normal_derivatives(
    smooth: Mapping[int, int], variables: InternalSymbols, pair: tuple[int, int], unknowns: int, symbols: Any
) -> list[Form]:
    """Return the forms for the continuity of ∂ₙʲ u_k, j < smooth[k]."""
    out, d = [], len(variables.coordinates)
    for k, most in smooth.items():
        for j in range(most):
            linear = [
                (PartialDerivative(p * unknowns + k, beta), sign * factor)
                for beta, factor in normal_derivative(j, d, variables.normals)
                for p, sign in zip(pair, (1, -1), strict=True)
            ]
            name = str(symbols.unknowns[k].func) + (f", normal derivative {j}," if j else "")
            out.append(Form(f"{name} across the interface", variables, tuple(linear), (), sp.Integer(0)))
    return out


def _reduced_order_terms(
    form: Form, sign: Expression, side: int, order: Sequence[int], axes: Sequence[int],
    normals: Sequence[Expression],
    smooth: dict[int, int],
) -> list[tuple[Expression, int, Form]]:  # fmt: skip
    """Return n_c a ∂^(α - e_c) u for the highest derivatives that are not along an axis with a flux."""
    out = []
    for derivative, a in form.linear:
        highest = sum(derivative.alpha) == order[derivative.unknown] > 0
        if highest and not any(derivative.alpha[c] for c in axes):
            c = next(i for i, n in enumerate(derivative.alpha) if n)
            lower = replace(derivative, alpha=tuple(n - (i == c) for i, n in enumerate(derivative.alpha)))
            part = replace(form, linear=((lower, a),), nonlinear=(), partials=(), rest=sp.Integer(0))
            out.append((sign * normals[c], side, part))
    for derivative, _ in form.nonlinear:
        # a(u, ∇u) ∂^α u: a is continuous, since u and ∇u are.
        if sum(derivative.alpha) == order[derivative.unknown] > 0 and not any(
            derivative.alpha[c] for c in axes
        ):
            smooth[derivative.unknown] = order[derivative.unknown]
    return out


def _sum(
    name: str, parts: Sequence[tuple[Expression, int, Form]], pair: tuple[int, int], unknowns: int, like: Form
) -> Form:
    """Return Σ factor · form, each form in the unknowns of its side."""
    linear: dict[PartialDerivative, Expression] = {}
    nonlinear, partials, data = [], [], []
    rest: Expression = sp.Integer(0)
    for number, (factor, side, form) in enumerate(parts):
        names = {s: sp.Symbol(f"pibls_i{number}_{n}", real=True) for n, (_, s) in enumerate(form.nonlinear)}
        for n, data_function in enumerate(form.data):
            names[data_function.symbol] = sp.Symbol(f"pibls_w{number}_{n}", real=True)
            data.append(
                DataFunction(
                    names[data_function.symbol],
                    data_function.function,
                    data_function.arguments,
                    data_function.name,
                )
            )

        def own(derivative: PartialDerivative, side: int = side) -> PartialDerivative:
            return replace(derivative, unknown=pair[side] * unknowns + derivative.unknown)

        for derivative, a in form.linear:
            linear[own(derivative)] = linear.get(own(derivative), 0) + factor * a.xreplace(names)
        for (derivative, s), p in zip(form.nonlinear, form.partials, strict=True):
            nonlinear.append((own(derivative), names[s]))
            partials.append(factor * p.xreplace(names))
        rest += factor * form.rest.xreplace(names)
    kept = tuple((derivative, a) for derivative, a in linear.items() if a != 0)
    return Form(name, like.variables, kept, tuple(nonlinear), rest, tuple(data), tuple(partials))


def normal_derivative(
    j: int, d: int, normals: Sequence[Expression]
) -> list[tuple[tuple[int, ...], Expression]]:
    """Return (β, j!/β! n^β) of the terms of ∂ₙʲ = Σ j!/β! n^β ∂^β."""
    out = []
    for beta in product(range(j + 1), repeat=d):
        if sum(beta) == j:
            times = factorial(j) // prod(map(factorial, beta))
            out.append((beta, times * sp.Mul(*(n**b for n, b in zip(normals, beta, strict=True)))))
    return out
