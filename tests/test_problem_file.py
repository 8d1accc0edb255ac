"""Problem files: their contents, the position of errors in them, and round trips of problems."""

from __future__ import annotations

import inspect
import re
import warnings
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.errors import ProblemError
from pibls.io import parse_problem, problem_text, python_functions, read_problem
from pibls.io.templates import kinds, summary, template
from pibls.text import TextError

x, y, t = sp.symbols("x y t")
u = sp.Function("u")(x, y)
v = sp.Function("v")(x, y)
ut = sp.Function("u")(x, t)
ux = sp.Function("u")(x)

FILE = """\
title = "Everything"
unknowns = ["u", "v"]
equations = [
    "laplacian(u) = -k + v",
    "v_xx + v_yy = f",
]

[domain]
x = [0, 1]
y = [0, "2*pi"]

[parameters]
k = 2.5
k2 = "k^2"

[definitions]
f = "k2*sin(x)"

[[conditions]]
dirichlet = "u"
value = "x*y"
on = "x = 0"

[[conditions]]
neumann = "u"
value = 1
on = { x = 1, y = "pi" }

[[conditions]]
robin = "u"
alpha = "k"
beta = 0.5
value = 0
on = "x = 1 and y < 3"

[[conditions]]
periodic = "v"
coordinate = "y"

[[conditions]]
equation = "v*dn(v) = u"
on = "x = 0 or x = 1"

[solve]
tol = 1e-8
seed = 3
max_nodes = 500
time_limit = 2.5

[output]
picture = "out/everything.png"
"""


def replaced(old: str, new: str, text: str = FILE) -> str:
    assert old in text
    return text.replace(old, new, 1)


def test_file_equals_problem_built_in_python() -> None:
    file = parse_problem(FILE)
    k = sp.Symbol("k")
    half = sp.Rational(1, 2)
    assert file.problem == pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 2 * sp.pi)}),
        [
            sp.Eq(u.diff(x, 2) + u.diff(y, 2), v - k),
            sp.Eq(v.diff(x, 2) + v.diff(y, 2), k**2 * sp.sin(x)),
        ],
        [
            pibls.Dirichlet(u, x * y, on=sp.Eq(x, 0)),
            pibls.Neumann(u, 1, on={x: 1, y: sp.pi}),
            pibls.Robin(u, 0, k, half, on=sp.And(sp.Eq(x, 1), y < 3)),
            pibls.Periodic(v, y),
            pibls.Condition(sp.Eq(v * pibls.dn(v), u), on=sp.Or(sp.Eq(x, 0), sp.Eq(x, 1))),
        ],
        {k: 2.5},
    )
    assert file.title == "Everything"
    assert file.settings == {"tol": 1e-8, "seed": 3, "max_nodes": 500, "time_limit": 2.5}
    assert dict(file.outputs) == {"picture": "out/everything.png"}
    assert dict(file.parameters) == {"k": sp.Rational(5, 2), "k2": sp.Rational(25, 4)}


def test_time_and_initial_conditions() -> None:
    file = parse_problem("""
equations = "u_tt = laplacian(u)"
domain = { x = [0, 1] }
time = { t = [0, 0.5] }
conditions = [
    { dirichlet = "u", value = 0 },
    { initial = "u", value = "sin(pi*x)" },
    { initial = "u_t", value = 0 },
]
""")
    assert file.problem == pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 0.5),
        [sp.Eq(ut.diff(t, 2), ut.diff(x, 2))],
        [pibls.Dirichlet(ut, 0), pibls.Initial(ut, sp.sin(sp.pi * x)), pibls.Initial(ut.diff(t), 0)],
    )


def test_defaults_are_those_of_solve() -> None:
    text = "equations = ['u_xx = 1']\ndomain.x = [0, 1]\nconditions = [{dirichlet = 'u', value = 0}]"
    file = parse_problem(text)
    parameters = inspect.signature(pibls.solve).parameters
    assert file.settings == {name: parameters[name].default for name in file.settings}


def test_vector_equation_gives_one_equation_per_component() -> None:
    file = parse_problem("""
unknowns = ["p", "q"]
equations = ["[p_x, q_x] = [q, -p]"]
domain = { x = [0, 1] }
conditions = [{ initial = "p", value = 1 }, { initial = "q", value = 0 }]
""")
    assert len(file.problem.equations) == 2


def test_parameters_can_be_overridden() -> None:
    for value, expected in ((3, 3), (0.1, sp.Rational(1, 10)), ("pi/2", sp.pi / 2)):
        assert parse_problem(FILE, parameters={"k": value}).parameters["k"] == expected
    with pytest.raises(ProblemError, match=r"parameters of problem.toml \(k, k2\), got kk. Did you mean k"):
        parse_problem(FILE, parameters={"kk": 3})


def test_named_shapes() -> None:
    text = """
equations = ["u_xx + u_yy = 1"]
[domain]
shape = "square"
[shapes]
square = { box = { x = [0, 1], y = [0, 1] } }
[[conditions]]
dirichlet = "u"
value = 0
on = "square"
"""
    box = pibls.Box({x: (0, 1), y: (0, 1)})
    assert parse_problem(text).problem.conditions == (pibls.Dirichlet(u, 0, on=box),)
    with pytest.raises(
        TextError, match=r"expected a shape \(interval, box, disk.*got 'bax'.*Did you mean box"
    ):
        parse_problem(replaced("square = { box = { x = [0, 1], y = [0, 1] } }", "square = { bax = 1 }", text))
    with pytest.raises(TextError, match="the name of a shape, got 'hole'"):
        parse_problem(replaced('shape = "square"', 'shape = "square - hole"', text))
    with pytest.raises(TextError, match="Declared shapes are square"):
        parse_problem(replaced('shape = "square"', 'shape = "sqare"', text))


INVALID_FILES: list[tuple[str, str, str, str]] = [
    # old text, new text, position, message
    ("title", "titel", "line 1, column 1", "Did you mean title"),
    ('"u", "v"', '"u", "v", "u"', "line 2, column 24", "unique unknowns"),
    ('"u", "v"', '"u", 3', "line 2, column 18", "expected a string, got a number, 3"),
    ('"u", "v"', '"u", "v w"', "line 2, column 19", "a name such as u"),
    ('"u", "v"', '"u", "v(x)"', "line 2, column 19", "the coordinates x, y"),
    ('"u", "v"', '"u", "pi"', "line 2, column 12", "pi, a constant"),
    ("laplacian(u) = -k + v", "laplacian(u) = -kk + v", "line 4, column 22", "Did you mean k"),
    ("laplacian(u) = -k + v", "lapl(u) = -k + v", "line 4, column 6", "a known function"),
    ("v_xx + v_yy = f", "v_xx + v_yy = f + ", "line 5, column 23", "Complete the expression"),
    ("x = [0, 1]", "x = [0, 1, 2]", "line 9, column 5", "two bounds"),
    ("x = [0, 1]", "x = [1, 0]", "line 9, column 5", "a lower end below the upper end"),
    ('"2*pi"', '"2*pie"', "line 10, column 12", "Did you mean pi"),
    ('"2*pi"', '"2*y"', "line 10, column 12", "a declared name"),
    ("k = 2.5", "k = true", "line 13, column 5", "a number, or an expression in quotes"),
    ("k = 2.5", "k = inf", "line 13, column 5", "a finite number"),
    ("k = 2.5", "k = 2.5\nu = 1", "line 14, column 1", "unique names"),
    ("k = 2.5", "k = 2.5\nu_x = 1", "line 14, column 1", "it denotes the derivative of u with respect to x"),
    ('f = "k2*sin(x)"', 'f = "k2*sin(x)"\nf_y = 1', "line 18, column 1", "derivative of f with respect to y"),
    ("v_xx + v_yy = f", "v_xx + v_ = f", "line 5, column 13", "a declared name"),
    ("v_xx + v_yy = f", r"v_xx\t + v_yy = \u0066 + g", "line 5, column 31", "a declared name"),
    ('"u", "v"', '"u", "v", "w"', "line 2, column 24", "unknowns that occur in an equation, got w"),
    ('periodic = "v"\ncoordinate = "y"', 'initial = "v"\nvalue = 0', "line 36", "a domain with time"),
    ('"k2*sin(x)"', '"k2*sin(z)"', "line 17, column 13", "a declared name"),
    ('dirichlet = "u"', 'dirichlett = "u"', "line 20, column 1", "Did you mean dirichlet"),
    ('dirichlet = "u"', 'dirichlet = "u*x"', "line 19, column 1", "an unknown such as"),
    ('value = "x*y"', 'valeu = "x*y"', "line 21, column 1", "Did you mean value"),
    ('value = "x*y"\n', "", "line 19, column 1", "value in a dirichlet condition, got none"),
    ('value = "x*y"', 'value = "[x, y]"', "line 21, column 10", "a scalar, got a vector"),
    ('on = "x = 0"\n', 'on = "x = z"\n', "line 22, column 11", "a declared name"),
    ('on = "x = 0"\n', 'on = "left"\n', "line 22, column 7", "a relation such as x = 0, or a shape"),
    ('on = "x = 0"\n', 'on = "x = 5"\n', "line 19, column 1", "a place in the domain"),
    ('on = "x = 0"\n', 'on = "u = 0"\n', "line 22, column 7", "a relation over the coordinates"),
    ('on = { x = 1, y = "pi" }', 'on = { x = 1, z = "pi" }', "line 27, column 15", "Valid keys are x, y"),
    ('beta = 0.5\n', "", "line 29, column 1", "beta in a robin condition"),
    ('coordinate = "y"', 'coordinate = "z"', "line 38, column 15", "Coordinates are x, y"),
    ("v*dn(v) = u", "v*dn(v) = u*", "line 41, column 25", "Complete the expression"),
    ('periodic = "v"', 'periodic = "v"\ninitial = "v"', "line 36",
     "one kind of condition .*got periodic and initial"),
    ("seed = 3", "seed = 3.5", "line 46, column 8", "a whole number"),
    ("tol = 1e-8", "tol = 2", "line 45, column 7", "a number above 0 and below 1"),
    ("tol = 1e-8", "toll = 1", "line 45, column 1", "Did you mean tol"),
    ("picture", "pictur", "line 51, column 1", "Did you mean picture"),
    ("everything.png", "everything.exe", "line 51, column 12", "a file name ending in .png"),
    ("[solve]", "[solve", "line 44", "valid TOML"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "position", "message"),
    INVALID_FILES,
    ids=[case[1][:30] or case[0] for case in INVALID_FILES],
)
def test_error_is_reported_with_its_position(old: str, new: str, position: str, message: str) -> None:
    with pytest.raises(TextError, match=message) as caught:
        parse_problem(replaced(old, new), file="my.toml")
    assert re.search(f"my.toml, ({position})", str(caught.value)), str(caught.value)


def test_a_key_below_the_wrong_section_is_explained() -> None:
    text = "[domain]\nx = [0, 1]\nequations = ['u_xx = 1']\n[[conditions]]\ndirichlet = 'u'\nvalue = 0"
    with pytest.raises(TextError, match="move equations to the top of the file"):
        parse_problem(text)


def test_remedies_refer_to_the_file_format() -> None:
    """Errors of the problem have one remedy for Python and another for problem files."""
    with pytest.raises(TextError, match=r"Add a section \[time\] with t = \[0, 1\]"):
        parse_problem(replaced('periodic = "v"\ncoordinate = "y"', 'initial = "v"\nvalue = 0'))


def test_missing_sections_are_reported() -> None:
    for section, message in (
        ("equations", "a list of equations, got none"),
        ("conditions", "at least one condition, got none"),
        ("domain", "coordinates with bounds, got none"),
    ):
        sections = {
            "equations": "equations = ['u_xx = 1']",
            "domain": "domain = { x = [0, 1] }",
            "conditions": "conditions = [{ dirichlet = 'u', value = 0 }]",
        }
        del sections[section]
        with pytest.raises(TextError, match=message):
            parse_problem("\n".join(sections.values()))


def test_errors_of_the_problem_are_located_in_the_file() -> None:
    with pytest.raises(TextError, match=r"as many equations as unknowns \(2\)") as caught:
        parse_problem(replaced('    "v_xx + v_yy = f",\n', ""), file="my.toml")
    assert caught.value.file == "my.toml"
    with pytest.raises(TextError, match="equation 2: expected") as caught:
        parse_problem(replaced("v_xx + v_yy = f", "u - u = f"), file="my.toml")
    assert caught.value.line == 5


def test_unreadable_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="a file that can be read, got No such file"):
        read_problem(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"title = '\xe9'")
    with pytest.raises(ProblemError, match=r"the byte 0xe9 at offset 9\. Save the file as UTF-8 text"):
        read_problem(tmp_path / "latin.toml")
    with pytest.raises(ProblemError, match="a file that can be read"):
        read_problem(tmp_path)
    (tmp_path / "fine.toml").write_text(FILE, encoding="utf-8-sig")  # as some editors save it
    assert read_problem(str(tmp_path / "fine.toml")).problem == parse_problem(FILE).problem


def bump(a: Any, b: Any) -> Any:
    return np.exp(-(a**2) - b**2)


THETA = sp.Symbol("θ", real=True)
ENERGY = sp.Function("e", real=True)(THETA)
POSITIVE = sp.Symbol("x", positive=True)
UP = sp.Function("u")(POSITIVE)
SQUARE = pibls.Box({x: (0, 1), y: (-0.1, sp.pi)})
STRIP = pibls.Interval(x, 0, 1).during(t, 0, sp.Rational(1, 3))
REVERSED = sp.Function("u")(y, x)
LINE = pibls.Interval(x, 0, 1)
K, BETA = sp.Symbol("K", positive=True), sp.Symbol("β")

PROBLEMS: dict[str, pibls.Problem] = {
    "floats": pibls.Problem(LINE, [0.1 * ux.diff(x, 2) - 1e-300], [pibls.Dirichlet(ux, 0.3)]),
    "numpy": pibls.Problem(LINE, [ux.diff(x, 2)], [pibls.Dirichlet(ux, np.float64(0.25))]),
    "unevaluated": pibls.Problem(LINE, [sp.Eq(ux.diff(x), sp.factor(2 * x + 2))], [pibls.Initial(ux, 0)]),
    "divergence form": pibls.Problem(
        SQUARE, [sp.Derivative((1 + x) * u.diff(x), x) + u.diff(y, 2)], [pibls.Dirichlet(u, 0)]
    ),
    "flux": pibls.Problem(
        SQUARE,
        [pibls.div(sp.Piecewise((1, x < sp.Rational(1, 2)), (10, True)) * pibls.grad(u)) - u],
        [pibls.Dirichlet(u, 0)],
    ),
    "parameters": pibls.Problem(
        LINE,
        [sp.Eq(K * ux.diff(x, 2), BETA**2 * sp.exp(-BETA * ux))],
        [pibls.Dirichlet(ux, K + x), pibls.Robin(ux, 0, BETA, 1, on=sp.Eq(x, 1))],
        parameters={K: 0.1, BETA: 2},
    ),
    "boundary parts": pibls.Problem(
        SQUARE,
        [u.diff(x, 2) + u.diff(y, 2) + sp.Abs(u)],
        [
            pibls.Dirichlet(u, 0, on=SQUARE),
            pibls.Neumann(u, sp.sqrt(2), on=sp.Or(sp.Eq(x, 0), y > 0.5)),
            pibls.Robin(u, 0, sp.sin(y), 0.5, on=sp.And(sp.Eq(x, 1), sp.Ne(y, 1))),
            pibls.Condition(pibls.dn(u) ** 2 - 1, on={x: 0, y: 0.5}),
        ],
    ),
    "in time": pibls.Problem(
        STRIP,
        [ut.diff(t, 2) - ut.diff(x, 2) - sp.Heaviside(x - t) * ut.diff(x)],
        [pibls.Periodic(ut, x), pibls.Initial(ut, sp.Max(x, 0)), pibls.Initial(ut.diff(t), 0)],
    ),
    "in space": pibls.Problem(
        STRIP, [ut.diff(t) - ut.diff(x, 2)], [pibls.Dirichlet(ut, 0, on=LINE), pibls.Initial(ut, 0)]
    ),
    "unusual names": pibls.Problem(
        pibls.Interval(THETA, 0, 1), [ENERGY.diff(THETA, 2) - sp.Abs(THETA)], [pibls.Dirichlet(ENERGY, 0)]
    ),
    "assumptions": pibls.Problem(
        pibls.Interval(POSITIVE, 0, 1), [UP.diff(POSITIVE, 2) - sp.Abs(POSITIVE)], [pibls.Dirichlet(UP, 0)]
    ),
    "other order": pibls.Problem(SQUARE, [REVERSED.diff(x, 2) + REVERSED], [pibls.Dirichlet(REVERSED, 0)]),
    "box of one": pibls.Problem(pibls.Box({x: (0, 1)}), [ux.diff(x, 2)], [pibls.Dirichlet(ux, 0)]),
    "derivative-like": pibls.Problem(
        LINE,
        [ux.diff(x) - sp.Function("u_x")(x), sp.Function("u_x")(x).diff(x)],
        [pibls.Initial(ux, 0), pibls.Initial(sp.Function("u_x")(x), 1)],
    ),
    "special": pibls.Problem(
        LINE, [ux.diff(x, 2) - sp.besselj(0, x) * sp.erf(x) + sp.Piecewise((1, x < 0.5), (x, True))],
        [pibls.Dirichlet(ux, sp.gamma(sp.Rational(1, 3)))],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_problem_round_trips_through_text(name: str) -> None:
    problem = PROBLEMS[name]
    text = problem_text(problem, title='A "title"', settings={"tol": 1e-7, "seed": 2, "time_limit": None})
    file = parse_problem(text)
    assert file.problem == problem
    assert (file.title, file.tol, file.seed, file.time_limit) == ('A "title"', 1e-7, 2, None)
    assert problem_text(file.problem) == problem_text(problem)


@pytest.mark.parametrize("name", list(pibls.cases))
def test_case_of_the_paper_round_trips_through_text(name: str) -> None:
    problem = pibls.cases[name].problem
    assert parse_problem(problem_text(problem)).problem == problem


def test_python_functions_are_named_and_required() -> None:
    problem = pibls.Problem(
        SQUARE,
        [sp.Eq(u.diff(x, 2) + u.diff(y, 2), x * pibls.known(bump, x, y) + pibls.known(np.sin, y))],
        [pibls.Dirichlet(u, bump, on=sp.Eq(x, 0)), pibls.Dirichlet(u, lambda a, b: a)],
    )
    text = problem_text(problem)
    functions = python_functions(problem)
    assert functions["bump"] is bump
    assert len(functions) == 3
    assert 'value = "python(bump)"' in text
    with pytest.raises(TextError, match="Text contains no Python code: pass functions="):
        parse_problem(text)
    parsed = parse_problem(text, functions=functions).problem
    assert parsed.conditions == problem.conditions
    assert problem_text(parsed) == text
    with_stand_ins = parse_problem(text, stand_ins=True).problem
    assert with_stand_ins.unknowns == problem.unknowns
    with pytest.raises(ProblemError, match=r"the Python function of this name"):
        cast(Any, with_stand_ins.conditions[0]).value(0.0, 0.0)


class UserDefinedInterval:
    """A user-defined shape: the unit interval."""

    coordinates = (x,)
    bounds = ((0.0, 1.0),)
    interior = staticmethod(LINE.interior)
    boundary = staticmethod(LINE.boundary)
    contains = staticmethod(LINE.contains)


def test_problem_that_cannot_be_written_is_rejected() -> None:
    user_defined = pibls.Problem(UserDefinedInterval(), [ux.diff(x, 2)], [pibls.Dirichlet(ux, 0)])
    with pytest.raises(ProblemError, match="user-defined classes cannot be written"):
        problem_text(user_defined)
    dummy = sp.Dummy("x")
    w = sp.Function("u")(dummy)
    hidden = pibls.Problem(pibls.Interval(dummy, 0, 1), [w.diff(dummy)], [pibls.Initial(w, 0)])
    with pytest.raises(ProblemError, match="a dummy is equal to itself only"):
        problem_text(hidden)


def test_templates_are_listed() -> None:
    assert {"poisson", "heat", "wave", "advection", "helmholtz", "burgers", "ode", "system"} <= set(kinds())
    assert {"reaction-diffusion", "beam"} <= set(kinds())
    assert all(summary(kind).endswith(".") for kind in kinds())
    with pytest.raises(ProblemError, match="Did you mean poisson"):
        template("poison")


@pytest.mark.parametrize("kind", kinds())
def test_template_is_valid_and_converges(kind: str) -> None:
    file = parse_problem(template(kind), file=f"{kind}.toml")
    assert file.title
    assert parse_problem(problem_text(file.problem)).problem == file.problem
    with warnings.catch_warnings():
        warnings.simplefilter("error", pibls.ConvergenceWarning)
        solution = pibls.solve(file.problem, **file.settings)
    assert solution.converged


def test_template_with_known_solution() -> None:
    file = parse_problem(template("helmholtz"))
    solution = pibls.solve(file.problem, **file.settings)
    a, b = np.random.default_rng(0).uniform(0, 1, (2, 200))
    assert np.max(np.abs(solution(a, b) - np.sin(6 * a + 1) * np.cos(8 * b))) < 1e-7
