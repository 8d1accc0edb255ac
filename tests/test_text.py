"""Mathematical text: parsing, error messages, and round trips of written expressions."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import pibls
from pibls.errors import ProblemError
from pibls.text import (
    Names,
    TextError,
    TextPrinter,
    parse_equation,
    parse_equations,
    parse_expression,
    parse_relation,
)
from pibls.text.work_budget import BudgetExceededError, spend, work_limit

x, y, t, k = sp.symbols("x y t k")
u = sp.Function("u")(x, y, t)
v = sp.Function("v")(x, y, t)
HALF = sp.Rational(1, 2)
NAMES = Names(
    {"x": x, "y": y, "t": t},
    {"u": u, "v": v},
    "t",
    {"k": sp.Rational(5, 2), "w": (x, y**2), "f": sp.sin(x * y)},
)

EXPRESSIONS: list[tuple[str, Any]] = [
    ("-x^2", -(x**2)),
    ("(-x)^2", x**2),
    ("2^3^2", 512),
    ("2**3", 8),
    ("x^-2", x**-2),
    ("2^-x*y", 2**-x * y),
    ("x - y - t", x - y - t),
    ("x/y/t", x / y / t),
    ("x/y*t", x / y * t),
    ("- -x", x),
    ("+x", x),
    ("0.1", sp.Rational(1, 10)),
    (".5e1", 5),
    ("1e-3*x", x / 1000),
    ("float(0.1)*x", 0.1 * x),
    ("k*x", 5 * x / 2),
    ("pi*e", sp.pi * sp.E),
    ("sqrt(x)", sp.sqrt(x)),
    ("ln(x) + log(x, 2) + log10(x)", sp.log(x) + sp.log(x) / sp.log(2) + sp.log(x) / sp.log(10)),
    ("atan2(y, x)", sp.atan2(y, x)),
    ("heaviside(x)", sp.Heaviside(x)),
    ("max(x, y, 0)", sp.Max(x, y, 0)),
    ("besselj(0, x)", sp.besselj(0, x)),
    ("if(x < 1/2, 1, y)", sp.Piecewise((1, x < HALF), (y, True))),
    ("u_x", u.diff(x)),
    ("u_xxyt", u.diff(x, 2, y, t)),
    ("u_yxx", u.diff(x, 2, y)),
    ("u_x_x", u.diff(x, 2)),
    ("u(x, y, t)", u),
    ("f_x", y * sp.cos(x * y)),
    ("diff(u, x, 2)", u.diff(x, 2)),
    ("diff(u, x, x, y)", u.diff(x, 2, y)),
    ("diff(u, x, 2, y)", u.diff(x, 2, y)),
    ("diff(u*v, x)", u.diff(x) * v + u * v.diff(x)),
    ("laplacian(u)", u.diff(x, 2) + u.diff(y, 2)),
    ("laplacian(laplacian(u))", u.diff(x, 4) + 2 * u.diff(x, 2, y, 2) + u.diff(y, 4)),
    ("div(k*grad(u))", sp.Rational(5, 2) * (u.diff(x, 2) + u.diff(y, 2)).expand()),
    ("dot(w, grad(u))", x * u.diff(x) + y**2 * u.diff(y)),
    ("dot([1, 2] - w/2, [x, y])", x * (1 - x / 2) + y * (2 - y**2 / 2)),
    ("dn(u)", pibls.dn(u)),
    ("hold(x + x)", sp.Add(x, x, evaluate=False)),
]


@pytest.mark.parametrize(("text", "expected"), EXPRESSIONS, ids=[text for text, _ in EXPRESSIONS])
def test_parse_expression(text: str, expected: Any) -> None:
    found = parse_expression(text, NAMES)
    assert sp.expand(found - expected) == 0 if text.startswith("div") else found == expected


def test_parse_equation() -> None:
    assert parse_equation("u_t = laplacian(u)", NAMES) == sp.Eq(u.diff(t), u.diff(x, 2) + u.diff(y, 2))
    assert parse_equation("u_t == 1", NAMES) == sp.Eq(u.diff(t), 1)
    assert parse_equation("u_t - 1", NAMES) == u.diff(t) - 1
    assert parse_equations("grad(u) = [x, 0]", NAMES) == (sp.Eq(u.diff(x), x), sp.Eq(u.diff(y), 0))
    # An equation that SymPy would evaluate stays an equation; Problem reports it.
    assert parse_equation("1 = 1", NAMES) == sp.Eq(1, 1, evaluate=False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 0", sp.Eq(x, 0)),
        ("y > 0.5", y > HALF),
        ("x = 0 and y < 1", sp.And(sp.Eq(x, 0), y < 1)),
        ("x = 0 or y = 0 and t < 1", sp.Or(sp.Eq(x, 0), sp.And(sp.Eq(y, 0), t < 1))),
        ("(x = 0 or y = 0) and t < 1", sp.And(sp.Or(sp.Eq(x, 0), sp.Eq(y, 0)), t < 1)),
        ("not (x = 0 and y = 0)", sp.Not(sp.And(sp.Eq(x, 0), sp.Eq(y, 0)))),
        ("not x < 1 and y < 1", sp.And(x >= 1, y < 1)),
        ("0 <= x < k", sp.And(sp.Le(0, x, evaluate=False), x < sp.Rational(5, 2))),
        ("x != 0", sp.Ne(x, 0)),
        ("true", sp.true),
        ("x^2 + y^2 = 1", sp.Eq(x**2 + y**2, 1)),
    ],
)
def test_parse_relation(text: str, expected: Any) -> None:
    assert parse_relation(text, NAMES) == expected


def test_derivatives_with_long_coordinate_names() -> None:
    names = Names.of("r theta", unknowns="u")
    r, theta = names.coordinates.values()
    w = names.unknowns["u"]
    for text in ("u_rtheta", "u_r_theta", "u_thetar"):
        assert parse_expression(text, names) == w.diff(r, theta)
    ambiguous = Names.of("a b ab", unknowns="u")
    with pytest.raises(TextError, match=r"got one with two readings. Write diff\(u, a"):
        parse_expression("u_ab", ambiguous)


INVALID_TEXTS: list[tuple[str, str]] = [
    ("", "expected a value, got the end of the text"),
    ("x +", "Complete the expression"),
    ("2x", r"Write \* between them"),
    ("x y", r"Write x\*y"),
    ("sin x", r"Write sin\(x\)\."),
    ("sin", r"expected sin\(…\)"),
    ("(x + 1", r"Close the \( before 'x \+ 1'"),
    ("x)", "there is no opening parenthesis"),
    ("1,5", "the decimal point is a dot"),
    ("x//y", "Write / once"),
    ("kk", "declared .*Did you mean k"),
    ("sine(x)", "Did you mean sin"),
    ("Sin(x)", "Did you mean sin"),
    ("u_xz", "u_xz is not a derivative of u: the coordinates are x, y, t"),
    ("k_x", "It does not depend on x"),
    ("k(x)", r"Write k\*\(…\)"),
    ("u(0, y, t)", "for a value at a point write a condition with on"),
    ("sin(x, y)", r"expected 1 argument\(s\) in sin\(…\), got 2"),
    ("diff(u, z)", r"expected a coordinate \(x, y, t\)"),
    ("diff(u, x, 0)", "a whole number from 1 to 16"),
    ("diff(u, x, 99)", "a whole number from 1 to 16"),
    ("u_" + "x" * 20, "order 16 or lower"),
    ("grad(u)", "expected an expression|vector"),
    ("[x, y]*[x, y]", r"Write dot\(a, b\)"),
    ("div(u)", r"expected a vector, got a scalar"),
    ("div([x])", "a vector of 2 components, got 1"),
    ("grad(u) + 1", "terms that are all scalars or all vectors"),
    ("x < 1", "expected an equation"),
    ("x and y", "Use them to combine relations"),
    ("if(x, 1, 2)", "expected a relation such as x = 0"),
    ("if(x < 1, 1)", "expected 3 to 41 argument"),
    ("sqrt(-1)", "real values"),
    ("(-8)^(1/3)", "the real cube root is"),
    ("acos(2)", "real values"),
    ("1/0", "a nonzero divisor"),
    ("log(0)", "finite values"),
    ("I*x", "Numbers are real"),
    ("u''", "Write a derivative as u_x"),
    ("python(g, x)", "Text contains no Python code"),
]


@pytest.mark.parametrize(("text", "message"), INVALID_TEXTS, ids=[text[:20] for text, _ in INVALID_TEXTS])
def test_invalid_text_is_explained(text: str, message: str) -> None:
    with pytest.raises(TextError, match=message):
        parse_equation(text, NAMES)


def test_error_has_line_and_column() -> None:
    with pytest.raises(TextError) as caught:
        parse_equation("u_t =\n  laplacian(u) + kk*x", NAMES, argument="equations[1]")
    error = caught.value
    assert (error.line, error.column, error.argument) == (2, 18, "equations[1]")
    assert str(error).endswith("  line 2, column 18\n      laplacian(u) + kk*x\n                     ^^")
    unpickled = pickle.loads(pickle.dumps(error))
    assert (str(unpickled), unpickled.line, unpickled.column) == (str(error), error.line, error.column)
    in_file = error.within("here", "a.toml", (10, 5))
    assert (in_file.line, in_file.column) == (11, 18)
    assert "a.toml, line 11, column 18" in str(in_file)


def test_error_excerpt_is_short_and_without_control_characters() -> None:
    with pytest.raises(TextError) as caught:
        parse_equation("x + " * 50 + "\x1b" + " + y" * 50, NAMES)
    text = str(caught.value)
    assert "\x1b" not in text
    assert "U+001B" in text
    assert max(map(len, text.splitlines())) < 200


def test_names_are_checked() -> None:
    with pytest.raises(ProblemError, match="got pi, a constant"):
        Names.of("pi")
    with pytest.raises(ProblemError, match="unique names"):
        Names.of("x", unknowns="x")
    with pytest.raises(ProblemError, match="names that do not denote a derivative"):
        Names.of("x", unknowns="u u_x")
    with pytest.raises(ProblemError, match="Spell out Greek letters"):
        Names.of("θ")
    with pytest.raises(ProblemError, match="at most 10"):
        Names.of(" ".join(f"x{i}" for i in range(11)))
    with pytest.raises(ProblemError, match="expected a string"):
        parse_expression(1, NAMES)  # type: ignore[arg-type]


def test_vector_equation_where_a_scalar_is_expected() -> None:
    with pytest.raises(TextError, match="a vector equation of 2 components"):
        parse_equation("grad(u) = [x, y]", NAMES)
    with pytest.raises(TextError, match="two scalars or two vectors of the same length"):
        parse_equation("grad(u) = 1", NAMES)


WRITTEN: list[tuple[Any, str]] = [
    (u.diff(x, 2) / 2 - sp.exp(-(x**2)), "u_xx/2 - exp(-x^2)"),
    (sp.Rational(1, 3) * x, "x/3"),
    (sp.Rational(31, 250) * x, "0.124*x"),
    (2 / (3 * x * y**2), "2/(3*x*y^2)"),
    (-sp.sqrt(x) / 2, "-sqrt(x)/2"),
    (1 / sp.sqrt(x), "1/sqrt(x)"),
    (x ** (-y), "x^(-y)"),
    ((x**y) ** t, "(x^y)^t"),
    (sp.Float(0.1) * x, "float(0.1)*x"),
    (sp.Float("0.1", 40), "float(0.1000000000000000000000000000000000000000, 136)"),
    (sp.factor(2 * x + 2 * y), "hold(2*(x + y))"),
    (sp.Add(x, x, evaluate=False), "hold(x + x)"),
    (sp.Mul(sp.Pow(2, 3, evaluate=False), x, evaluate=False), "hold(hold(2^3)*x)"),
    (sp.Derivative(sp.Derivative(u, y), x), "hold(diff(u, y, x))"),
    (sp.sin(0, evaluate=False), "hold(sin(0))"),
    (sp.Derivative(x * u, x), "hold(diff(x*u, x))"),
    (u.diff(t, x), "u_xt"),
    (sp.Piecewise((x, x < 1), (y, sp.And(y > 0, x > 2)), (0, True)), "if(x < 1, x, x > 2 and y > 0, y, 0)"),
    (sp.Piecewise((x, x < 1)), "piecewise(x < 1, x)"),
    (sp.Heaviside(x, 0), "heaviside(x, 0)"),
    (pibls.dn(u) * sp.pi, "pi*dn(u)"),
    (sp.Abs(x), "abs(x)"),
]


@pytest.mark.parametrize(("expression", "text"), WRITTEN, ids=[text for _, text in WRITTEN])
def test_write_expression(expression: Any, text: str) -> None:
    written = TextPrinter(NAMES).expression(expression)
    assert parse_expression(written, NAMES) == expression
    if "136" not in text:  # the number of digits may vary
        assert written == text


@pytest.mark.parametrize(
    "relation",
    [
        sp.Or(sp.Eq(x, 0), sp.And(y > HALF, sp.Ne(t, 1))),
        sp.Not(sp.And(sp.Eq(x, 0), sp.Or(y > 1, t < 1))),
        sp.Lt(0, x, evaluate=False),
        sp.true,
        sp.Eq(x, 0.5),
    ],
)
def test_write_relation(relation: Any) -> None:
    assert parse_relation(TextPrinter(NAMES).relation(relation), NAMES) == relation


def test_write_python_functions() -> None:
    def g(x: Any) -> Any:
        return x

    names = Names({"x": x}, {"u": sp.Function("u")(x)}, functions={"g": g})
    term = pibls.known(g, x) * x
    assert TextPrinter(names).expression(term) == "x*python(g, x)"
    assert str(parse_expression("x*python(g, x)", names)) == "x*g(x)"
    with pytest.raises(TextError, match="a coordinate"):
        parse_expression("python(g, 2)", names)
    with pytest.raises(ProblemError, match="can be written as text"):
        TextPrinter(NAMES).expression(term)


def test_expression_without_text_form_is_rejected() -> None:
    for expression in (sp.DiracDelta(x), sp.Symbol("z"), sp.Integral(x, x), x + sp.I):
        with pytest.raises(ProblemError, match="can be written as text"):
            TextPrinter(NAMES).expression(expression)


def test_nested_work_limits() -> None:
    with pytest.raises(BudgetExceededError), work_limit(1000):
        spend(1001)
    with work_limit(1000):
        with work_limit(600):
            spend(600)
        spend(400)
        with pytest.raises(BudgetExceededError), work_limit(600):
            spend(1)
    spend(1e9)  # no limit outside of the blocks


def test_work_limit_keeps_profiler_and_trace_hooks() -> None:
    """The work limit uses no hook and removes none."""
    slow = "abs(" + "+".join(f"{i}*x^{i}*y" for i in range(1, 500)) + ")"

    def hook(*_: Any) -> None:
        return None

    before = sys.getprofile(), sys.gettrace()
    sys.setprofile(hook)
    try:
        with pytest.raises(TextError, match="that SymPy can build quickly"):
            parse_expression(slow, NAMES)
        assert sys.getprofile() is hook
    finally:
        sys.setprofile(before[0])
    assert sys.gettrace() is before[1]


LEAVES = [x, y, t, u, v, u.diff(x), v.diff(y, 2), sp.pi, sp.E]
FUNCTIONS = [sp.sin, sp.cos, sp.tanh, sp.atan, sp.erf, sp.asinh, sp.Abs, sp.sign]
EXPONENTS = [2, 3, -1, -2, HALF, -HALF, sp.Rational(1, 3), x]


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> Any:
    """Expressions built by SymPy, with or without evaluation."""
    kind = draw(st.integers(0, 8 if depth else 3))
    match kind:
        case 0 | 1:
            return draw(st.sampled_from(LEAVES))
        case 2:
            return sp.Rational(draw(st.integers(-999, 999)), draw(st.integers(1, 999)))
        case 3:
            return sp.Float(draw(st.floats(-100, 100)))
        case 4 | 5:
            parts = [draw(expressions(depth - 1)) for _ in range(draw(st.integers(2, 3)))]
            return (sp.Add, sp.Mul)[kind - 4](*parts, evaluate=draw(st.booleans()))
        case 6:
            return sp.Pow(draw(expressions(depth - 1)), draw(st.sampled_from(EXPONENTS)))
        case 7:
            return draw(st.sampled_from(FUNCTIONS))(draw(expressions(depth - 1)))
    inner = draw(expressions(depth - 1))
    if draw(st.booleans()):
        return sp.Derivative(inner, x) if inner.has(x) else inner
    return sp.Piecewise((inner, x < HALF), (draw(expressions(depth - 1)), True))


@given(expressions())
@settings(max_examples=120, deadline=None, derandomize=True)
def test_random_expressions_round_trip(expression: Any) -> None:
    text = written(expression)
    assert text is None or parse_expression(text, NAMES) == expression


def written(expression: Any) -> str | None:
    """Return the text, or None for expressions that text cannot represent: not finite, not real, too slow."""
    try:
        return TextPrinter(NAMES).expression(expression)
    except ProblemError as error:
        if "The reason" in error.remedy:
            return None
        raise
