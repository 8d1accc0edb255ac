"""Invalid input and its error messages: the argument, what was expected, what was given, the remedy."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
import sympy as sp
from sympy.physics.units import meter
from sympy.vector import CoordSys3D

import pibls
from pibls.basis.activation import Tanh

lib: Any = pibls  # untyped on purpose: a type checker would reject these calls

x, y, z, t, k = sp.symbols("x y z t k")
U = sp.Function("u")
u1, u, ut = U(x), U(x, y), U(x, t)
v1, w1 = sp.Function("v")(x), sp.Function("w")(x)
LINE, SQUARE = lib.Interval(x, 0, 1), lib.Box({x: (0, 1), y: (0, 1)})
STRIP = LINE.during(t, 0, 1)
HEAT = ut.diff(t) - ut.diff(x, 2)
VANISHING = sp.Derivative(x * u1, x) - u1 - x * u1.diff(x)  # is zero after expansion only
STEP = sp.Piecewise((1, x < sp.Rational(1, 2)), (10, True))
FINE = {"basis": lib.Features(250, scale=4.0), "points": lib.Points(500, 160, 40)}
SMALL = {"basis": lib.Features(20, scale=5.0), "points": lib.Points(40, 8, 4)}


class Mistake(NamedTuple):
    """A call, and parts of the four things that its error must say."""

    name: str
    call: Callable[[], Any]
    argument: str
    expected: str
    got: str
    remedy: str


def line(*conditions: Any, equation: Any = None) -> Any:
    equation = u1.diff(x, 2) - 1 if equation is None else equation
    return lib.Problem(LINE, [equation], list(conditions) or [lib.Dirichlet(u1, 0)])


def square(*conditions: Any, equation: Any = None) -> Any:
    equation = u.diff(x, 2) + u.diff(y, 2) - 1 if equation is None else equation
    return lib.Problem(SQUARE, [equation], list(conditions) or [lib.Dirichlet(u, 0)])


def parametric(parameters: Any) -> Any:
    return lib.Problem(LINE, [u1.diff(x) + k * u1], [lib.Initial(u1, 1)], parameters=parameters)


def heat_problem(*conditions: Any) -> Any:
    return lib.Problem(STRIP, [HEAT], list(conditions))


def corner_in_time(where: Any) -> Any:
    w = U(x, y, t)
    return lib.Problem(SQUARE.during(t, 0, 1), [w.diff(t)], [lib.Dirichlet(w, 0, on=where)])


def solve(problem: Any, **settings: Any) -> Any:
    return lib.solve(problem, **{**SMALL, **settings})


@cache
def solved() -> Any:
    """u on the unit square."""
    return lib.solve(square(lib.Dirichlet(u, x**2 / 2 + y)), **FINE)


@cache
def solved_pair() -> Any:
    """u and v on an interval."""
    problem = lib.Problem(LINE, [u1.diff(x) - v1, v1.diff(x) + u1], [lib.Initial(u1, 1), lib.Initial(v1, 1)])
    return lib.solve(problem, basis=lib.Features(40, scale=5.0), points=lib.Points(80, 2, 1))


def dirichlet(value: Any) -> Callable[[], Any]:
    return lambda: line(lib.Dirichlet(u1, value))


def on(where: Any) -> Callable[[], Any]:
    return lambda: square(lib.Dirichlet(u, 0, on=where))


def source(f: Any) -> Callable[[], Any]:
    return lambda: line(equation=u1.diff(x, 2) - f)


def function_value(f: Any) -> Callable[[], Any]:
    return lambda: solve(square(lib.Dirichlet(u, f)))


def raising(a: Any, b: Any) -> Any:
    raise KeyError("table")


class ClassInsteadOfInstance:
    """A class with all members of a domain, passed instead of an instance."""

    coordinates = bounds = property(lambda self: ())
    interior = boundary = contains = print


DOMAINS = [
    Mistake("empty interval", lambda: lib.Interval(x, 1, 1),
            "Interval(a, b)", "lower end below", "(1, 1)", "low < high"),
    Mistake("reversed interval", lambda: lib.Interval(x, 2, 1),
            "Interval(a, b)", "lower end below", "(2, 1)", "low < high"),
    Mistake("nan end", lambda: lib.Interval(x, 0, math.nan),
            "Interval(a, b)", "a finite number", "nan", "finite coordinate"),
    Mistake("infinite end", lambda: lib.Interval(x, 0, sp.oo),
            "Interval(a, b)", "a finite number", "inf", "finite coordinate"),
    Mistake("enormous end", lambda: lib.Interval(x, 0, 10**400),
            "Interval(a, b)", "a finite number", "inf", "finite coordinate"),
    Mistake("complex end", lambda: lib.Interval(x, 0, 1j),
            "Interval(a, b)", "a real number", "1j", "Give a number"),
    Mistake("end with a symbol", lambda: lib.Interval(x, 0, k),
            "Interval(a, b)", "a real number", "k", "Give a number"),
    Mistake("end as text", lambda: lib.Interval(x, "0", 1),
            "Interval(a, b)", "a real number", "'0'", "Give a number"),
    Mistake("end as list", lambda: lib.Interval(x, [0], [1]),
            "Interval(a, b)", "a real number", "[0]", "Give a number"),
    Mistake("end as array", lambda: lib.Interval(x, np.zeros(1), 1),
            "Interval(a, b)", "a real number", "array", "Give a number"),
    Mistake("end as truth value", lambda: lib.Interval(x, np.False_, 1),
            "Interval(a, b)", "a real number", "False", "Give a number"),
    Mistake("coordinate as text", lambda: lib.Interval("x", 0, 1),
            "Interval(x)", "a SymPy symbol", "'x'", "sympy.symbols"),
    Mistake("coordinate as unknown", lambda: lib.Interval(u1, 0, 1),
            "Interval(x)", "a SymPy symbol", "u(x)", "sympy.symbols"),
    Mistake("swapped arguments", lambda: lib.Interval(0, 1, x),
            "Interval(x)", "a SymPy symbol", "0", "sympy.symbols"),
    Mistake("integer coordinate", lambda: lib.Interval(sp.Symbol("n", integer=True), 0, 1),
            "Interval(x)", "all real values", "an integer", "real=True"),
    Mistake("imaginary coordinate", lambda: lib.Interval(sp.Symbol("x", imaginary=True), 0, 1),
            "Interval(x)", "all real values", "not real", "real=True"),
    Mistake("positive coordinate below zero", lambda: lib.Interval(sp.Symbol("x", positive=True), -1, 1),
            "Interval(x)", "all real values", "positive, on (-1, 1)", "real=True"),
    Mistake("negative coordinate above zero", lambda: lib.Box({sp.Symbol("x", negative=True): (-1, 1)}),
            "side of x", "all real values", "negative, on (-1, 1)", "real=True"),
    Mistake("box as list", lambda: lib.Box([(0, 1), (0, 1)]),
            "Box(sides)", "a dictionary", "[(0, 1), (0, 1)]", "Write Box({x: (0, 1)"),
    Mistake("empty box", lambda: lib.Box({}), "Box(sides)", "a dictionary", "{}", "Write Box({x: (0, 1)"),
    Mistake("three ends", lambda: lib.Box({x: (0, 1, 2)}),
            "Box: side of x", "two values", "(0, 1, 2)", "{x: (0, 1)}"),
    Mistake("one end", lambda: lib.Box({x: 1}), "Box: side of x", "two values", "1", "{x: (0, 1)}"),
    Mistake("ends as a set", lambda: lib.Box({x: {1, 0}}),
            "Box: side of x", "two values", "{0, 1}", "{x: (0, 1)}"),
    Mistake("side as dictionary", lambda: lib.Box({x: {0: 1, 1: 2}}),
            "Box: side of x", "two values", "{0: 1, 1: 2}", "{x: (0, 1)}"),
    Mistake("reversed side", lambda: lib.Box({x: (0, 1), y: (1, 0)}),
            "Box: side of y", "lower end below", "(1, 0)", "low < high"),
    Mistake("text as key", lambda: lib.Box({"x": (0, 1)}),
            "Box(sides)", "a SymPy symbol", "'x'", "sympy.symbols"),
    Mistake("two coordinates of one name", lambda: lib.Box({x: (0, 1), sp.Symbol("x", real=True): (0, 1)}),
            "Box(sides)", "different names", "two coordinates named x", "rename"),
    Mistake("time equals a space coordinate", lambda: LINE.during(x, 0, 1),
            "during(t)", "not a space coordinate", "x", "another symbol"),
    Mistake("time named like space", lambda: LINE.during(sp.Symbol("x", real=True), 0, 1),
            "during(t)", "different names", "two coordinates named x", "rename"),
    Mistake("reversed time interval", lambda: LINE.during(t, 1, 0),
            "during(t0, t1)", "lower end below", "(1, 0)", "low < high"),
    Mistake("two times", lambda: lib.During(STRIP, z, 0, 1),
            "During(space)", "a domain without a time", "already has a time", "only once"),
    Mistake("time for a class", lambda: lib.During(lib.Interval, t, 0, 1),
            "During(space)", "a shape such as", "class", "A user-defined shape"),
    Mistake("time for a number", lambda: lib.During(3, t, 0, 1),
            "During(space)", "a shape such as", "3", "A user-defined shape"),
]  # fmt: skip

PROBLEMS = [
    Mistake("domain class", lambda: lib.Problem(lib.Interval, [u1.diff(x)], []),
            "domain", "a shape such as", "class", "A user-defined shape"),
    Mistake("user-defined domain class", lambda: lib.Problem(ClassInsteadOfInstance, [u1.diff(x)], []),
            "domain", "a shape such as", "ClassInsteadOfInstance", "A user-defined shape"),
    Mistake("time class", lambda: lib.Problem(lib.During, [u1.diff(x)], []),
            "domain", "a shape such as", "During", "A user-defined shape"),
    Mistake("equations first", lambda: lib.Problem([u1.diff(x)], LINE, []),
            "domain", "a shape such as", "Derivative(u(x), x)", "A user-defined shape"),
    Mistake("conditions second", lambda: lib.Problem(LINE, [lib.Dirichlet(u1, 0)], [u1.diff(x)]),
            "equations", "a SymPy Eq", "Dirichlet", "SymPy"),
    Mistake("equations as dictionary", lambda: lib.Problem(LINE, {"heat": u1.diff(x)}, []),
            "equations", "a list", "heat", "equations=[…]"),
    Mistake("equations as generator", lambda: lib.Problem(LINE, (e for e in [u1.diff(x)]), []),
            "equations", "a list", "generator", "equations=[…]"),
    Mistake("equations as array", lambda: lib.Problem(LINE, np.array([u1.diff(x)]), []),
            "equations", "a list", "array", "equations=[…]"),
    Mistake("equations as text", lambda: lib.Problem(LINE, "u'' = 1", []),
            "equations", "a list", "u'' = 1", "equations=[…]"),
    Mistake("no equations", lambda: lib.Problem(LINE, [], [lib.Dirichlet(u1, 0)]),
            "equations", "at least one", "none", "sympy.Eq"),
    Mistake("equation as text", lambda: line(equation="u'' = 1"),
            "equations", "a SymPy Eq", "u'' = 1", "text is never evaluated"),
    Mistake("equation as number", lambda: line(equation=3), "equations", "a SymPy Eq", "3", "SymPy"),
    Mistake("equation as list", lambda: line(equation=[u1.diff(x), 1]),
            "equations", "a SymPy Eq", "Derivative(u(x), x)", "SymPy"),
    Mistake("equation as array", lambda: line(equation=np.array([1.0, 2.0])),
            "equations", "a SymPy Eq", "array", "SymPy"),
    Mistake("equation as matrix", lambda: line(equation=sp.Matrix([u1.diff(x)])),
            "equations", "one scalar", "Matrix", "each component"),
    Mistake("equation between matrices",
            lambda: line(equation=sp.Eq(sp.Matrix([u1.diff(x)]), sp.Matrix([1]))),
            "equations", "one scalar", "Matrix", "each component"),
    Mistake("equation as inequality", lambda: line(equation=u1.diff(x) < 1),
            "equations", "a SymPy Eq", "< 1", "SymPy"),
    Mistake("Python ==", lambda: line(equation=u1.diff(x, 2) == 1),
            "equations", "a SymPy Eq", "False", "sympy.Eq(left, right)"),
    Mistake("trivial Eq", lambda: line(equation=sp.Eq(u1, u1)),
            "equations", "a SymPy Eq", "True", "sympy.Eq(left, right)"),
    Mistake("function not applied", lambda: line(equation=U), "equations", "a SymPy Eq", "u", "SymPy"),
    Mistake("unknown as symbol", lambda: line(equation=sp.Symbol("u") - x),
            "equations", "sympy.Function", "without any unknown", "not a symbol"),
    Mistake("too few equations", lambda: line(equation=u1.diff(x) + v1),
            "equations", "as many equations as unknowns (2)", "1 for u(x), v(x)", "underdetermined"),
    Mistake("the same equation twice",
            lambda: lib.Problem(LINE, [u1.diff(x) + v1, v1 + u1.diff(x)], [lib.Dirichlet(u1, 0)]),
            "equation 2", "differs from the others", "the same as equation 1", "no further unknown"),
    Mistake("unknowns cancel", lambda: line(equation=VANISHING),
            "equation", "contains an unknown", "0 = 0", "Check the signs"),
    Mistake("one unknown cancels",
            lambda: lib.Problem(LINE, [u1.diff(x) + VANISHING.subs(u1, v1), u1], [lib.Dirichlet(u1, 0)]),
            "equations", "determines v(x)", "cancels", "Add an equation"),
    Mistake("no conditions", lambda: lib.Problem(LINE, [u1.diff(x)], []),
            "conditions", "at least one", "none", "not unique"),
    Mistake("conditions are None", lambda: lib.Problem(LINE, [u1.diff(x)], None),
            "conditions", "a list", "None", "conditions=[…]"),
    Mistake("conditions as generator",
            lambda: lib.Problem(LINE, [u1.diff(x)], (lib.Dirichlet(u1, end) for end in (0, 1))),
            "conditions", "a list", "generator", "conditions=[…]"),
    Mistake("condition class", lambda: line(lib.Dirichlet),
            "conditions", "Dirichlet, Neumann", "class", "Condition(equation, on=…)"),
    Mistake("condition as Eq", lambda: line(sp.Eq(u1, 0)),
            "conditions", "Dirichlet, Neumann", "Eq(u(x), 0)", "Condition(equation, on=…)"),
    Mistake("conditions nested", lambda: line([lib.Dirichlet(u1, 0)]),
            "conditions", "Dirichlet, Neumann", "[Dirichlet", "Condition(equation, on=…)"),
    Mistake("free symbol", source(k * x),
            "equation", "only the coordinates (x,)", "the free symbol k", "parameters={symbol: number}"),
    Mistake("coordinate outside the domain", source(y),
            "equation", "only the coordinates (x,)", "the free symbol y", "add it to the domain"),
    Mistake("same name, other assumptions", source(sp.Symbol("x", real=True)),
            "equation", "only the coordinates (x,)", "the free symbol x", "parameters={symbol: number}"),
    Mistake("unknown of another symbol",
            lambda: line(equation=U(sp.Symbol("x", real=True)).diff(sp.Symbol("x", real=True))),
            "equations", "unknowns of the coordinates", "u(x)", "other assumptions"),
    Mistake("unknown of too few coordinates", lambda: square(equation=u.diff(x, 2) - U(x)),
            "equations", "such as u(x, y)", "u(x)", "the symbols of the domain"),
    Mistake("unknown with swapped coordinates", lambda: square(equation=u.diff(x, 2) - U(y, x)),
            "equations", "the same order of arguments", "different orders", "one order"),
    Mistake("value at a fixed point", lambda: line(equation=u1.diff(x) - U(0)),
            "equations", "unknowns of the coordinates", "u(0)", "the symbols of the domain"),
    Mistake("symbolic order", lambda: line(equation=u1.diff((x, sp.Symbol("n", integer=True)))),
            "equation", "definite order", "(x, n)", "coordinates of the domain"),
    Mistake("normal derivative in the domain", lambda: square(equation=lib.dn(u) + u.diff(x, 2)),
            "equation", "derivatives by the coordinates", "dn", "boundary conditions only"),
    Mistake("integral", source(sp.Integral(u1, (x, 0, 1))),
            "equation", "algebraic and differential", "Integral(u(x), (x, 0, 1))", "without Integral"),
    Mistake("big O", source(sp.O(x**2)),
            "equation", "algebraic and differential", "O(x**2)", "without Order"),
    Mistake("nan", source(sp.nan), "equations", "finite values", "nan", "0/0"),
    Mistake("infinity", source(sp.oo * x), "equation", "finite values", "infinity", "division by zero"),
    Mistake("complex infinity", source(sp.zoo * x),
            "equation", "finite values", "infinity", "division by zero"),
    Mistake("enormous number", source(x * 10**400), "equation", "finite values", "floating point", "rescale"),
    Mistake("complex coefficient", source(sp.I * u1),
            "equation", "real values", "imaginary unit", "real part"),
    Mistake("complex root of -1", source(x * sp.Integer(-1) ** sp.Rational(1, 3)),
            "equation", "real values", "(-1)**(1/3)", "real_root"),
    Mistake("inverse cosine of 5", source(sp.acos(5)),
            "equation", "real values", "acos(5)", "roots of negative"),
    Mistake("unit", source(3 * meter),
            "equation", "numbers, coordinates and unknowns", "meter", "one system of units"),
    Mistake("delta function as a value", lambda: line(lib.Dirichlet(u1, sp.DiracDelta(x - 0.5))),
            "Dirichlet(u)", "finite values", "DiracDelta", "in equations only"),
    Mistake("delta of the unknown", source(sp.exp(sp.DiracDelta(x - 0.5))),
            "equation", "as a factor of a term", "DiracDelta", "strength*DiracDelta"),
    Mistake("derivative of a delta", source(sp.DiracDelta(x - 0.5, 1)),
            "equation", "DiracDelta(x - a) of one coordinate", "a derivative of DiracDelta", "narrow exp"),
    Mistake("oblique delta", lambda: square(equation=u.diff(x, 2) + u.diff(y, 2) - sp.DiracDelta(x - y)),
            "equation", "DiracDelta(x - a) of one coordinate", "with 2 coordinate(s)", "narrow exp"),
    Mistake("delta at the initial time",
            lambda: lib.solve(line(lib.Initial(u1, 0), equation=u1.diff(x) + u1 - sp.DiracDelta(x))),
            "problem", "inside the domain", "at its end, x = 0", "Initial(u.diff(t), …)"),
    Mistake("two deltas of one coordinate", source(sp.DiracDelta(x - 0.5) * sp.DiracDelta(x - 0.25)),
            "equation", "at most one DiracDelta of each coordinate", "DiracDelta", "undefined"),
    Mistake("delta under a derivative", source(sp.Derivative(u1 * sp.DiracDelta(x - 0.5), x)),
            "equation", "no DiracDelta under a derivative", "Derivative(", "Take it out"),
    Mistake("delta at a point, not supported yet",
            lambda: solve(square(equation=u.diff(x, 2) + u.diff(y, 2)
                                 - sp.DiracDelta(x - 0.5) * sp.DiracDelta(y - 0.5))),
            "problem", "a DiracDelta of one coordinate", "one at x = 0.5, y = 0.5", "not supported yet"),
    Mistake("expression with a delta", lambda: solved().evaluate(u * sp.DiracDelta(x), 0.1, 0.1),
            "expression", "finite values", "DiracDelta", "Leave it out"),
    Mistake("jump of a highest coefficient", lambda: line(equation=(STEP * u1.diff(x)).diff(x)),
            "equation", "coefficient of Derivative(u(x), (x, 2)) that does not jump", "where x - 1/2 = 0",
            "pibls.div(k*pibls.grad(u))"),
    Mistake("flux with jumps on oblique lines, not supported yet",
            lambda: solve(square(equation=lib.div((1 + sp.floor(x + y)) * lib.grad(u)) - 1)),
            "problem", "jump on coordinate planes", "a jump at x + y", "not supported yet"),
    Mistake("divergence of a number", lambda: lib.div(5),
            "div(vector)", "a multiple of grad(u)", "5", "div(k*grad(u))"),
    Mistake("divergence of matrix times gradient", lambda: lib.div(sp.eye(2) * lib.grad(u)),
            "div(vector)", "one expression for each coordinate", "Matrix", "div([k1*u.diff(x)"),
    Mistake("divergence of a scalar", lambda: square(equation=lib.div(u * lib.grad(u) ** 2)),
            "equations", "a sum of multiples of grad(…)", "grad(u(x, y))**2", "div([a, b])"),
    Mistake("divergence with a component missing", lambda: square(equation=lib.div([u.diff(x)])),
            "equations", "2 component(s) in div(…), one for each of (x, y)", "1", "Time is not a component"),
    Mistake("gradient alone", lambda: square(equation=lib.grad(u) - 1),
            "equations", "grad(…) inside div(…)", "grad(u(x, y))", "Write the derivatives explicitly"),
    Mistake("parameters in a list", lambda: parametric([k]),
            "parameters", "a mapping of SymPy symbols to numbers", "[k]", "parameters={k: 2.0}"),
    Mistake("parameter by name", lambda: parametric({"k": 1.0}),
            "parameters", "SymPy symbols with values", "'k'", "sympy.Symbol"),
    Mistake("parameter that is a coordinate", lambda: parametric({k: 1.0, x: 2.0}),
            "parameters", "other than the coordinates (x,)", "x", "rename"),
    Mistake("parameter that is an unknown", lambda: parametric({k: 1.0, sp.Symbol("u"): 2.0}),
            "parameters", "other than those of the unknowns (u(x))", "u", "Rename"),
    Mistake("parameter of an unknown", lambda: lib.Problem(LINE, [k * u1.diff(x) + lib.known(abs, k)],
                                                        [lib.Initial(u1, 0)], {k: 1.0}),
            "parameters", "unknowns of the coordinates only", "abs(k)", "solution.sensitivity(k)"),
    Mistake("two parameters of one name", lambda: parametric({k: 1.0, sp.Symbol("k", real=True): 2.0}),
            "parameters", "each name once", "two symbols called k", "different assumptions"),
    Mistake("parameter without a number", lambda: parametric({k: None}),
            "parameters[k]", "a finite number", "None", "such as 2.0"),
    Mistake("infinite parameter", lambda: parametric({k: math.inf}),
            "parameters[k]", "a finite number", "inf", "such as 2.0"),
    Mistake("unused parameter", lambda: parametric({k: 1.0, t: 2.0}),
            "parameters[t]", "occurs in an equation or a condition", "t, which occurs in none", "spelling"),
    Mistake("parameter with other assumptions", lambda: parametric({sp.Symbol("k", real=True): 1.0}),
            "parameters[k]", "occurs in an equation or a condition", "which occurs in none", "assumptions"),
    Mistake("value of no parameter", lambda: parametric({k: 1.0}).at(kk=2.0),
            "at(kk)", "a parameter of the problem (k)", "'kk'", "Did you mean k?"),
    Mistake("value that is no number", lambda: parametric({k: 1.0}).at(k="two"),
            "at(k)", "a finite number", "'two'", "such as 2.0"),
    Mistake("values by position", lambda: parametric({k: 1.0}).at(2.0),
            "at(parameters)", "values by name, or one mapping", "2.0", "problem.at(k=3.0)"),
    Mistake("value of a problem without parameters", lambda: line().at(k=2.0),
            "at(k)", "(it has none)", "'k'", "parameters={k: …}"),
    Mistake("step in the unknown", source(sp.Heaviside(u1)),
            "equation", "differentiated by the unknowns", "Heaviside(u(x)), which jumps", "tanh"),
    Mistake("rounding of the unknown", source(sp.floor(u1)),
            "equation", "differentiated by the unknowns", "floor", "smooth"),
    Mistake("root of a negative source", lambda: solve(line(equation=u1.diff(x, 2) - sp.sqrt(x - 5))),
            "equation", "finite values", "nan", "root or logarithm"),
    Mistake("gap in a piecewise source",
            lambda: solve(line(equation=u1.diff(x, 2) - sp.Piecewise((1, x > 0.5)))),
            "equation", "finite values", "nan", "bad data"),
]  # fmt: skip

CONDITIONS = [
    Mistake("function not applied", lambda: lib.Dirichlet(U, 0),
            "Dirichlet(u)", "an unknown such as", "u", "Pass the applied function"),
    Mistake("unknown as symbol", lambda: lib.Dirichlet(sp.Symbol("u"), 0),
            "Dirichlet(u)", "an unknown such as", "u", "Pass the applied function"),
    Mistake("unknown as text", lambda: lib.Neumann("u", 0),
            "Neumann(u)", "an unknown such as", "'u'", "Pass the applied function"),
    Mistake("unknown as matrix", lambda: lib.Robin(sp.Matrix([u]), 0, 1, 1),
            "Robin(u)", "an unknown such as", "Matrix", "Pass the applied function"),
    Mistake("derivative as unknown", lambda: lib.Dirichlet(u.diff(x), 0),
            "Dirichlet(u)", "an unknown such as", "Derivative", "use Condition"),
    Mistake("value first", lambda: lib.Dirichlet(0, u),
            "Dirichlet(u)", "an unknown such as", "0", "Pass the applied function"),
    Mistake("unknown without equation", lambda: line(lib.Dirichlet(w1, 0)),
            "Dirichlet(w)", "only the unknowns of the equations (u(x))", "w(x)", "add the missing equation"),
    Mistake("periodic unknown without equation", lambda: line(lib.Periodic(w1, x)),
            "Periodic(w, x)", "only the unknowns", "w(x)", "add the missing equation"),
    Mistake("value at a point", lambda: line(lib.Dirichlet(U(0), 1)),
            "Dirichlet(u)", "u(x), at the point", "u(0)", "on=…"),
    Mistake("nonlocal condition", lambda: line(lib.Condition(U(0) - u1, on=sp.Eq(x, 1))),
            "Condition(", "u(x), at the point", "u(0)", "on=…"),
    Mistake("derivative at a point", lambda: line(lib.Condition(u1.diff(x).subs(x, 0) - 1)),
            "Condition(", "algebraic and differential", "Subs", "without Subs"),
    Mistake("value as text", dirichlet("0"),
            "Dirichlet(value)", "a number", "'0'", "Text is never evaluated"),
    Mistake("value as None", dirichlet(None), "Dirichlet(value)", "a number", "None", "SymPy"),
    Mistake("value as list", dirichlet([0, 1]), "Dirichlet(value)", "one number", "[0, 1]", "interpolates"),
    Mistake("value as array", dirichlet(np.zeros(2)),
            "Dirichlet(value)", "one number", "array", "interpolates"),
    Mistake("value as matrix", dirichlet(sp.Matrix([1, 2])),
            "Dirichlet(value)", "one number", "Matrix", "interpolates"),
    Mistake("value as vector", dirichlet(CoordSys3D("N").i),
            "Dirichlet(value)", "one number", "N.i", "interpolates"),
    Mistake("value as relation", dirichlet(sp.Eq(x, 0)),
            "Dirichlet(value)", "one number", "Eq(x, 0)", "interpolates"),
    Mistake("value as function class", dirichlet(sp.sin),
            "Dirichlet(value)", "a number", "sin itself", "Apply it"),
    Mistake("value as lambda of SymPy", dirichlet(sp.Lambda(x, x**2)),
            "Dirichlet(value)", "a number", "Lambda", "Apply it"),
    Mistake("value is nan", dirichlet(math.nan), "Dirichlet(u)", "finite values", "NaN", "division by zero"),
    Mistake("value is infinite", dirichlet(math.inf),
            "Dirichlet(u)", "finite values", "infinity", "division by zero"),
    Mistake("value is complex", dirichlet(2j), "Dirichlet(u)", "real values", "imaginary unit", "real part"),
    Mistake("value with a free symbol", dirichlet(k),
            "Dirichlet(u)", "only the coordinates (x,)", "the free symbol k", "parameters={symbol: number}"),
    Mistake("value cancels the unknown", dirichlet(u1),
            "Dirichlet(u)", "an unknown in the condition", "Dirichlet(u)", "must contain an unknown"),
    Mistake("coefficients are zero", lambda: line(lib.Robin(u1, 1, 0, 0)),
            "Robin(u)", "an unknown in the condition", "Robin(u)", "must contain an unknown"),
    Mistake("coefficient as text", lambda: line(lib.Robin(u1, 0, "1", 1)),
            "Robin(alpha)", "a number", "'1'", "Text is never evaluated"),
    Mistake("condition as text", lambda: line(lib.Condition("u = 0")),
            "Condition(equation)", "a SymPy Eq", "'u = 0'", "text is never evaluated"),
    Mistake("condition with Python ==", lambda: line(lib.Condition(u1 == 0)),
            "Condition(equation)", "a SymPy Eq", "False", "sympy.Eq(left, right)"),
    Mistake("condition as array", lambda: line(lib.Condition(np.zeros(2))),
            "Condition(equation)", "a SymPy Eq", "array", "SymPy"),
    Mistake("condition in a condition", lambda: line(lib.Condition(lib.Dirichlet(u1, 0))),
            "Condition(equation)", "a SymPy Eq", "Dirichlet", "SymPy"),
    Mistake("condition without unknown", lambda: line(lib.Condition(x - 1)),
            "Condition(x - 1 = 0)", "an unknown in the condition", "x - 1", "must contain an unknown"),
    Mistake("initial condition without time", lambda: square(lib.Initial(u, 0)),
            "Initial", "a domain with time", "Box", "during(t, t0, t1)"),
    Mistake("initial condition of a symbol", lambda: lib.Initial(x, 0),
            "Initial(expression)", "an unknown or a derivative", "x", "Initial(u.diff(t), value)"),
    Mistake("initial condition as text", lambda: lib.Initial("u", 0),
            "Initial(expression)", "an unknown or a derivative", "'u'", "Initial(u.diff(t), value)"),
    Mistake("initial condition as Eq", lambda: lib.Initial(sp.Eq(u1, 0), 0),
            "Initial(expression)", "an unknown or a derivative", "Eq(u(x), 0)", "Initial(u, value)"),
    Mistake("normal derivative at the initial time", lambda: heat_problem(lib.Initial(lib.dn(ut), 0)),
            "Initial(", "one side of the boundary", "None", "u.diff(x)"),
    Mistake("periodic in time", lambda: heat_problem(lib.Periodic(ut, t)),
            "Periodic(u, t): x", "a space coordinate", "t", "is periodic"),
    Mistake("periodic in a foreign symbol", lambda: heat_problem(lib.Periodic(ut, z)),
            "Periodic(u, z): x", "a space coordinate", "z", "is periodic"),
    Mistake("periodic in a text", lambda: lib.Periodic(ut, "x"),
            "Periodic(x)", "a SymPy symbol", "'x'", "sympy.symbols"),
    Mistake("periodic in an array", lambda: lib.Periodic(ut, np.array([x])),
            "Periodic(x)", "a SymPy symbol", "array", "sympy.symbols"),
    Mistake("periodic without derivative",
            lambda: lib.Problem(STRIP, [ut.diff(t) - ut], [lib.Periodic(ut, x)]),
            "Periodic(u, x)", "an equation with a x-derivative", "none", "only where"),
    Mistake("known of a number", lambda: lib.known(3, x),
            "known(function)", "a Python callable", "3", "SymPy expression"),
    Mistake("known of a SymPy function", lambda: lib.known(sp.sin, x),
            "known(function)", "a Python callable", "sin", "SymPy expression"),
    Mistake("known without coordinates", lambda: lib.known(np.sin),
            "known(coordinates)", "depends on", "none", "known(function, x, y)"),
    Mistake("known of a text", lambda: lib.known(np.sin, "x"),
            "known(coordinates)", "depends on", "'x'", "SymPy symbols"),
    Mistake("known of an expression", source(lib.known(np.sin, 2 * x)),
            "equation", "functions of the coordinates (x,)", "sin(2*x)", "coordinates only"),
    Mistake("known of the unknown", source(lib.known(np.sin, u1)),
            "equation", "functions of the coordinates (x,)", "sin(u(x))", "coordinates only"),
    Mistake("derivative of known", source(lib.known(np.sin, x).diff(x)),
            "equation", "no derivative of a Python function", "Derivative(sin(x), x)", "product rule"),
]  # fmt: skip

LOCATIONS = [
    Mistake("on as text", on("left"), "on left: on", "a SymPy relation", "'left'", "on=sympy.Eq(x, 0)"),
    Mistake("on as number", on(0), ": on", "a SymPy relation", "0", "on=sympy.Eq(x, 0)"),
    Mistake("on as tuple", on((0, 0)), ": on", "a point {x: 0, y: 0}", "(0, 0)", "on=sympy.Eq(x, 0)"),
    Mistake("on as function", on(lambda a, b: a == 0),
            ": on", "a SymPy relation", "lambda", "on=sympy.Eq(x, 0)"),
    Mistake("on as mask", on(np.array([True])), ": on", "a SymPy relation", "array", "on=sympy.Eq(x, 0)"),
    Mistake("on as class", on(lib.During), ": on", "a SymPy relation", "class", "on=sympy.Eq(x, 0)"),
    Mistake("on as expression", on(x - 1), ": on", "a SymPy relation", "x - 1", "on=sympy.Eq(x, 0)"),
    Mistake("on as symbol", on(x), ": on", "equalities and inequalities", "x", "Rewrite"),
    Mistake("on with exclusive or", on(sp.Xor(x > 0.5, y > 0.5)), ": on", "And, Or, Not", "^", "Rewrite"),
    Mistake("on with Python ==", on(x == 0),
            ": on", "holds on some part", "False", "x == 0 is False in Python"),
    Mistake("on with NumPy ==", on(np.float64(1.0) == 0), ": on", "holds on some part", "False", "sympy.Eq"),
    Mistake("outside the domain", on(sp.Eq(x, 5)), ": on", "0 <= x <= 1", "Eq(x, 5)", "inside the domain"),
    Mistake("inequality outside the domain", on(x > 5),
            ": on", "holds on some part", "x > 5", "signs and bounds"),
    Mistake("part of a side outside", on(sp.And(sp.Eq(x, 0), y > 5)),
            ": on", "holds on some part", "y > 5", "signs and bounds"),
    Mistake("curve outside the domain", on(sp.Eq(x**2 + y**2, 25)),
            ": on", "holds on some part", "x**2 + y**2", "signs and bounds"),
    Mistake("foreign symbol", on(sp.Eq(z, 0)),
            ": on", "over the coordinates (x, y)", "Eq(z, 0)", "z is not a coordinate"),
    Mistake("the unknown", on(u > 0),
            ": on", "over the coordinates (x, y)", "u(x, y) > 0", "is not a coordinate"),
    Mistake("complex location", on(sp.Eq(x, sp.I)), ": on", "real numbers", "Eq(x, I)", "imaginary unit"),
    Mistake("side or slice", on(sp.Or(sp.Eq(x, 0), sp.Eq(x, 0.5))),
            ": on", "joined by sympy.Or", "Eq(x, 0.5), which is not", "one condition for each"),
    Mistake("initial time or side",
            lambda: heat_problem(lib.Dirichlet(ut, 0, on=sp.Or(sp.Eq(t, 0), sp.Eq(x, 0)))),
            ": on", "joined by sympy.Or", "Eq(t, 0), which is not", "one condition for each"),
    Mistake("edge of a strip in time", lambda: corner_in_time(sp.And(sp.Eq(x, 0), sp.Eq(t, 0))),
            ": on", "a slice x = level", "Eq(x, 0)", "name the sides"),
    Mistake("other shape", on(lib.Box({x: (0, 2), y: (0, 1)})),
            ": on", "contributes to the boundary", "Box({x: (0, 2)", "was built"),
    Mistake("point without y", on({x: 0}), ": on", "each coordinate (x, y)", "{x: 0}", "sympy.Eq(x, 0)"),
    Mistake("point with text keys", on({"x": 0, "y": 0}),
            ": on", "each coordinate (x, y)", "'x'", "sympy.Eq(x, 0)"),
    Mistake("point with a foreign symbol", on({x: 0, y: 0, z: 0}),
            ": on", "each coordinate (x, y)", "z: 0", "sympy.Eq(x, 0)"),
    Mistake("point outside", on({x: 0, y: 3}), ": on", "a point in Box", "y: 3", "onto its boundary"),
    Mistake("point outside in time", lambda: heat_problem(lib.Dirichlet(ut, 0, on={x: 0, t: 7})),
            ": on", "a point in", "t: 7", "onto its boundary"),
    Mistake("point at nan", on({x: math.nan, y: 0}), "on[x]", "a finite number", "nan", "finite coordinate"),
    Mistake("many points", on({x: [0, 1], y: 0}), "on[x]", "a real number", "[0, 1]", "Give a number"),
    Mistake("normal at a corner", lambda: square(lib.Neumann(u, 0, on={x: 0, y: 0})),
            ": on", "the normal is defined", "{x: 0, y: 0}", "Condition(u.diff(x) - value"),
    Mistake("normal inside", lambda: square(lib.Neumann(u, 0, on={x: 0.5, y: 0.5})),
            ": on", "the normal is defined", "{x: 0.5", "Condition(u.diff(x) - value"),
    Mistake("normal on a slice", lambda: square(lib.Neumann(u, 0, on=sp.Eq(x, 0.5))),
            ": on", "the normal is defined", "Eq(x, 0.5)", "Condition(u.diff(x) - value"),
    Mistake("sides leave no boundary",
            lambda: line(*(lib.Dirichlet(u1, 0, on=sp.Eq(x, end)) for end in (0, 1)), lib.Neumann(u1, 0)),
            "Neumann(u): on", "no other condition", "already name all", "on=domain"),
    Mistake("points leave no boundary",
            lambda: line(*(lib.Dirichlet(u1, 0, on={x: end}) for end in (0, 1)), lib.Neumann(u1, 0)),
            "Neumann(u): on", "no other condition", "already name all", "on=domain"),
    Mistake("domain leaves no boundary",
            lambda: square(lib.Dirichlet(u, 0, on=SQUARE), lib.Neumann(u, 0)),
            "Neumann(u): on", "no other condition", "already name all", "on=domain"),
    Mistake("periodicity leaves no boundary", lambda: line(lib.Periodic(u1, x), lib.Dirichlet(u1, 0)),
            "Dirichlet(u): on", "no other condition", "already name all", "on=domain"),
]  # fmt: skip

FUNCTIONS = [
    Mistake("returns nan", function_value(lambda a, b: a * math.nan),
            "Dirichlet(u)", "finite values at every point", "nan", "bad data"),
    Mistake("returns a matrix", function_value(lambda a, b: np.zeros((len(a), 2))),
            "Dirichlet(u)", "one per point", "shape (", "one number per point"),
    Mistake("returns too few", function_value(lambda a, b: np.zeros(3)),
            "Dirichlet(u)", "one per point", "shape (3,)", "one number per point"),
    Mistake("returns a column", function_value(lambda a, b: a[:, None]),
            "Dirichlet(u)", "one per point", ", 1)", "one number per point"),
    Mistake("returns complex numbers", function_value(lambda a, b: a + 1j),
            "Dirichlet(u)", "returns real numbers", "complex128", "NumPy functions"),
    Mistake("returns text", function_value(lambda a, b: "1"),
            "Dirichlet(u)", "returns real numbers", "<U1", "NumPy functions"),
    Mistake("takes one argument", function_value(lambda a: a),
            "Dirichlet(u)", "2 coordinate array(s)", "signature (a)", "one argument per coordinate"),
    Mistake("takes three arguments", function_value(lambda a, b, c: a),
            "Dirichlet(u)", "2 coordinate array(s)", "signature (a, b, c)", "one argument per coordinate"),
    Mistake("raises", function_value(raising),
            "Dirichlet(u): raising", "takes arrays", "KeyError: 'table'", "NumPy functions"),
    Mistake("works on numbers only", function_value(lambda a, b: math.sin(a)),
            "Dirichlet(u)", "takes arrays", "TypeError", "NumPy functions"),
    Mistake("branches on arrays", function_value(lambda a, b: 1 if a > 0 else 0),
            "Dirichlet(u)", "takes arrays", "ambiguous", "NumPy functions"),
    Mistake("computes with SymPy", function_value(lambda a, b: sp.sin(a)),
            "Dirichlet(u)", "takes arrays", "Error", "NumPy functions"),
]  # fmt: skip

SETTINGS = [
    Mistake("zero nodes", lambda: lib.Features(0, scale=1.0),
            "Features(nodes)", "at least 1", "0", "at least one node"),
    Mistake("fractional number of nodes", lambda: lib.Features(10.5, scale=1.0),
            "Features(nodes)", "a whole number", "10.5", "at least one node"),
    Mistake("negative scale", lambda: lib.Features(10, scale=-1.0),
            "Features(scale)", "a positive number", "-1.0", "between 1 and 20"),
    Mistake("scale as list", lambda: lib.Broad(2, 2, scale=[1.0]),
            "Broad(scale)", "a positive number", "[1.0]", "between 1 and 20"),
    Mistake("unknown activation", lambda: lib.Features(10, scale=1.0, activation="relu"),
            "Features(activation)", "'tanh', 'sin'", "'relu'", "one of these names"),
    Mistake("activation as function", lambda: lib.Features(10, scale=1.0, activation=np.tanh),
            "Features(activation)", "the name of an activation", "tanh", "Choose one of"),
    Mistake("activation as class", lambda: lib.Features(10, scale=1.0, activation=Tanh),
            "Features(activation)", "the name of an activation", "class", "Choose one of"),
    Mistake("enhancement without nodes",
            lambda: lib.Broad(2, 2, 3, 0, scale=1.0),
            "Broad(enhancement_groups, enhancement_nodes)", "both positive", "(3, 0)", "give both"),
    Mistake("enhancement without groups",
            lambda: lib.Broad(2, 2, 0, 3, scale=1.0),
            "Broad(enhancement_groups, enhancement_nodes)", "both positive", "(0, 3)", "give both"),
    Mistake("no points inside", lambda: lib.Points(0, 10),
            "Points(interior)", "at least 1", "0", "the number of points"),
    Mistake("negative number of points", lambda: lib.Points(10, -1),
            "Points(boundary)", "at least 0", "-1", "the number of points"),
    Mistake("unknown rule", lambda: lib.Points(10, 10, rule="gauss"),
            "Points(rule)", "'sobol', 'halton'", "'gauss'", "one of these names"),
    Mistake("rule as list", lambda: lib.Points(10, 10, rule=["sobol"]),
            "Points(rule)", "'sobol', 'halton'", "['sobol']", "one of these names"),
    Mistake("unknown boundary rule", lambda: lib.Points(10, 10, boundary_rule="edge"),
            "Points(boundary_rule)", "'sobol', 'halton'", "'edge'", "one of these names"),
    Mistake("no points at the start",
            lambda: solve(heat_problem(lib.Initial(ut, 0), lib.Dirichlet(ut, 0)), points=lib.Points(40, 8)),
            "points.initial", "at least 1, for the condition Initial(u)", "0", "initial=100"),
    Mistake("no points on the boundary", lambda: solve(square(), points=lib.Points(40, 0)),
            "points.boundary", "at least 1, for the condition Dirichlet(u)", "0", "boundary=100"),
    Mistake("problem class", lambda: lib.solve(lib.Problem),
            "problem", "a pibls.Problem", "class", "Problem(domain, equations, conditions)"),
    Mistake("equation instead of problem", lambda: lib.solve(sp.Eq(u1, 0)),
            "problem", "a pibls.Problem", "Eq(u(x), 0)", "Problem(domain, equations, conditions)"),
    Mistake("basis as text", lambda: lib.solve(line(), basis="broad"),
            "basis", "Broad(…)", "'broad'", "basis=Broad"),
    Mistake("points as number", lambda: lib.solve(line(), points=100),
            "points", "Points(interior, boundary, initial)", "100", "points=Points(400, 80)"),
    Mistake("method as text", lambda: lib.solve(line(), method="newton"),
            "method", "GaussNewton()", "'newton'", "Methods are objects"),
    Mistake("method as class", lambda: lib.solve(line(), method=lib.GaussNewton),
            "method", "GaussNewton()", "class", "Methods are objects"),
    Mistake("linear solver as method", lambda: lib.solve(line(), method=lib.SVD()),
            "method", "GaussNewton()", "SVD", "Methods are objects"),
    Mistake("linear method for a nonlinear problem",
            lambda: solve(line(equation=u1.diff(x, 2) - u1**2), method=lib.LeastSquares()),
            "method", "for nonlinear problems", "LeastSquares", "Leave method out"),
    Mistake("tolerance zero", lambda: lib.solve(line(), tol=0),
            "tol", "between 0 and 1", "0", "relative to max|u|"),
    Mistake("tolerance above one", lambda: lib.solve(line(), tol=2.0),
            "tol", "between 0 and 1", "2.0", "relative to max|u|"),
    Mistake("tolerance nan", lambda: lib.solve(line(), tol=math.nan),
            "tol", "between 0 and 1", "nan", "relative to max|u|"),
    Mistake("tolerance as text", lambda: lib.solve(line(), tol="1e-8"),
            "tol", "between 0 and 1", "'1e-8'", "relative to max|u|"),
    Mistake("negative seed", lambda: lib.solve(line(), seed=-1),
            "seed", "at least 0", "-1", "The same seed gives the same result"),
    Mistake("seed as float", lambda: lib.solve(line(), seed=1.5),
            "seed", "a whole number", "1.5", "The same seed gives the same result"),
    Mistake("unknown case", lambda: lib.cases["TC5"],
            "cases[name]", "TC-1, TC-2", "'TC5'", "Did you mean 'TC-5'?"),
]  # fmt: skip

EVALUATIONS = [
    Mistake("too few coordinates", lambda: solved()(0.5),
            "solution(x, y)", "2 coordinates (x, y)", "1", "per coordinate"),
    Mistake("points as one array", lambda: solved()(np.zeros((3, 2))),
            "solution(x, y)", "2 coordinates (x, y)", "1", "per coordinate"),
    Mistake("too many coordinates", lambda: solved()(0, 0, 0),
            "solution(x, y)", "2 coordinates (x, y)", "3", "per coordinate"),
    Mistake("wrong name", lambda: solved()(x=0.5, z=0.5),
            "solution(x, y)", "the coordinates x, y", "x, z", "solution(x=…, y=…)"),
    Mistake("missing name", lambda: solved()(x=0.5),
            "solution(x, y)", "the coordinates x, y", "x", "solution(x=…, y=…)"),
    Mistake("position and name", lambda: solved()(0.5, y=0.5),
            "solution(x, y)", "by position or by name", "both", "Write solution(x, y)"),
    Mistake("shapes that do not broadcast", lambda: solved()(np.zeros(3), np.zeros(4)),
            "solution(x, y)", "broadcast", "mismatch", "meshgrid"),
    Mistake("text", lambda: solved()("a", 0), "solution(x, y)", "numbers or arrays", "'a'", "meshgrid"),
    Mistake("symbols", lambda: solved()(x, y), "solution(x, y)", "numbers or arrays", "float", "meshgrid"),
    Mistake("complex coordinates", lambda: solved()(1j, 0),
            "solution(x, y)", "numbers or arrays", "complex", "meshgrid"),
    Mistake("several unknowns", lambda: solved_pair()(0.5),
            "solution(…)", "one unknown", "2 unknowns (u, v)", "solution[u](…)"),
    Mistake("unknown name", lambda: solved_pair()["w"],
            "solution[unknown]", "one of u, v", "'w'", "as it stands"),
    Mistake("index", lambda: solved_pair()[0], "solution[unknown]", "one of u, v", "0", "as it stands"),
    Mistake("foreign unknown", lambda: solved_pair().evaluate(w1, 0.5),
            "expression", "only the unknowns", "w(x)", "Use an unknown"),
    Mistake("expression as text", lambda: solved().evaluate("u", 0, 0),
            "expression", "a SymPy expression", "'u'", "text is never evaluated"),
    Mistake("expression not applied", lambda: solved().evaluate(U, 0, 0),
            "expression", "a SymPy expression", "u", "SymPy"),
    Mistake("expression as list", lambda: solved().evaluate([u], 0, 0),
            "expression", "a SymPy expression", "[u(x, y)]", "SymPy"),
    Mistake("expression as Eq", lambda: solved().evaluate(sp.Eq(u, 0), 0, 0),
            "expression", "a SymPy expression", "Eq(", "SymPy"),
    Mistake("expression with a free symbol", lambda: solved().evaluate(k * u, 0, 0),
            "expression", "only the coordinates (x, y)", "the free symbol k", "parameters={symbol: number}"),
    Mistake("normal derivative", lambda: solved().evaluate(lib.dn(u), 0, 0),
            "expression", "by the coordinates", "dn", "n_x*u.diff(x)"),
    Mistake("unknown at another point", lambda: solved().evaluate(U(0, y), 0, 0),
            "expression", "u(x, y), at the point", "u(0, y)", "on=…"),
    Mistake("integral at a point", lambda: solved().evaluate(u + lib.integral(u), 0, 0),
            "expression", "at the point itself", "integral(u(x, y))", "solution.integral"),
    Mistake("CSV file in a missing folder", lambda: solved().to_csv("no/such/folder/u.csv"),
            "solution.to_csv(path)", "the name of a file", "no/such/folder/u.csv", "Create the folder"),
    Mistake("VTK file in a missing folder", lambda: solved().to_vtk("no/such/folder/u"),
            "solution.to_vtk(path)", "the name of a file", "no/such/folder/u", "Create the folder"),
    Mistake("CSV file without a name", lambda: solved().to_csv(3),
            "solution.to_csv(path)", "the name of a file", "3", "u.csv"),
    Mistake("folder instead of a CSV file", lambda: solved().to_csv("."),
            "solution.to_csv(path)", "the name of a file", "the folder .", "Add a file name"),
    Mistake("callback that is not callable", lambda: lib.solve(square(), callback=3),
            "callback", "a function of one argument", "3", "callback=print"),
    Mistake("perturbation below zero", lambda: lib.NLSQPerturb(delta=-1),
            "NLSQPerturb(delta)", "at least 0", "-1", "Leave delta out"),
    Mistake("rounds below zero", lambda: lib.GaussNewton(rounds=-1),
            "GaussNewton(rounds)", "a whole number", "-1", "Leave rounds out"),
    Mistake("fractional rounds", lambda: lib.NLSQPerturb(rounds=1.5),
            "NLSQPerturb(rounds)", "a whole number", "1.5", "Leave rounds out"),
    Mistake("sensitivity to the position of a load", lambda: lib.solve(lib.Problem(
                LINE, [u1.diff(x, 2) - sp.DiracDelta(x - k)], [lib.Dirichlet(u1, 0)], parameters={k: 0.4}
            )).sensitivity(k),
            "sensitivity(k)", "does not move a point load", "moves a DiracDelta", "pibls.sweep"),
]  # fmt: skip

MISTAKES = [*DOMAINS, *PROBLEMS, *CONDITIONS, *LOCATIONS, *FUNCTIONS, *SETTINGS, *EVALUATIONS]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.name.replace(" ", "-"))
def test_invalid_input_raises_problem_error(mistake: Mistake) -> None:
    with pytest.raises(pibls.ProblemError) as caught:
        mistake.call()
    error = caught.value
    assert mistake.argument in error.argument
    assert mistake.expected in error.expected
    assert mistake.got in error.got
    assert mistake.remedy in error.remedy
    assert str(error) == f"{error.argument}: expected {error.expected}, got {error.got}. {error.remedy}"
    assert "pibls_" not in str(error), "internal names must not appear in messages"


def test_similar_case_name_is_suggested() -> None:
    """The error is a KeyError as well, since `cases` is a mapping."""
    with pytest.raises(KeyError, match="Did you mean 'TC-7'"):
        lib.cases["TC7"]
    assert "TC-99" not in pibls.cases


def test_exception_of_user_function_is_the_cause() -> None:
    with pytest.raises(pibls.ProblemError) as caught:
        solve(square(lib.Dirichlet(u, raising)))
    assert isinstance(caught.value.__cause__, KeyError)


# --- valid input that looks invalid -----------------------------------------------------------------


def test_function_that_writes_into_its_arguments() -> None:
    """A user's function gets copies of the arrays, so changing them does not move the points."""

    def double_in_place(a: Any, b: Any) -> Any:
        a *= 2
        return a

    problem = square(lib.Dirichlet(u, double_in_place), equation=u.diff(x, 2) + u.diff(y, 2) + u - 2 * x)
    assert lib.solve(problem, **FINE)(0.25, 0.5) == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize(
    "value", [2, 2.0, np.float64(2), np.int64(2), sp.Integer(2), sp.Float(2), 2 + 0j, lambda a: 2]
)
def test_values_of_every_numeric_type(value: Any) -> None:
    problem = line(lib.Dirichlet(u1, value), equation=u1.diff(x, 2) + u1 - 2)
    assert lib.solve(problem, **FINE)(0.5) == pytest.approx(2.0, abs=1e-9)


def test_single_equation_and_condition_need_no_list() -> None:
    assert lib.Problem(LINE, u1.diff(x), lib.Initial(u1, 0)).is_linear


def test_special_functions_are_allowed() -> None:
    """Functions of SciPy, of a coordinate or of the unknown, also where SciPy returns complex values."""
    equation = u1.diff(x, 2) - sp.besselj(0, x) - sp.LambertW(1 + u1**2) - sp.zeta(x + 2)
    problem = line(lib.Dirichlet(u1, 1), equation=equation)
    assert not problem.is_linear
    assert lib.solve(problem, **FINE).residuals["equation"].max < 1e-6


def test_discontinuous_expressions_can_be_evaluated() -> None:
    """An equation with sign(u) cannot be solved by Newton steps, but sign(u) can be evaluated."""
    assert solved().evaluate(sp.sign(u - 1), 0.9, 0.9) == 1.0


def test_positive_coordinate_from_zero_is_accepted() -> None:
    p = sp.Symbol("x", positive=True)
    assert lib.Interval(p, 0, 1).bounds == ((0.0, 1.0),)
