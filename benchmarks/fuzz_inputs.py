"""Inputs for the fuzz run of the parser: valid and damaged expressions, attacks, and random text."""

from __future__ import annotations

import random
import re

ATTACKS = (
    "__import__('os').system('true')",
    "().__class__.__bases__[0].__subclasses__()",
    "x.__class__",
    "u.__init__.__globals__",
    "getattr(x, 'is_real')",
    "eval('1')",
    "exec('import os')",
    "open('/etc/passwd')",
    "lambda x: x",
    "[c for c in x]",
    "f'{x}'",
    "x if y else t",
    "(x := 3)",
    "x; y",
    "import os",
    "`id`",
    "$(id)",
    "x\x00y",
    "x\ny",
    "# comment",
    "u = 1 # 2",
    "'x'",
    '"x"',
    "\\frac{x}{y}",
    "9^9^9^9",
    "2^10^9",
    "x^(10^9)",
    "(1/3)^100000",
    "(1 + 1e-9)^(10^9)",
    "exp(10^10)",
    "exp(exp(exp(10)))",
    "exp(exp(exp(20*u)))",
    "exp(10^9*log(3))",
    "exp(10^9*log(3) - 1098612288)",
    "gamma(10^9)",
    "factorial(10^6)",
    "binomial(10^6, 10^5)",
    "legendre(10^5, x)",
    "zeta(10^6)",
    "besselj(10^9, 10^9)",
    "float(1e400, 10000)",
    "1e999999999",
    "1e-999999999",
    "0x1F",
    "1_000",
    "1" * 500,
    "(" * 300 + "x" + ")" * 300,
    "[" * 300,
    "-" * 500 + "x",
    "x^" * 300 + "x",
    "sin(" * 120 + "x" + ")" * 120,
    "not " * 300 + "x = 0",
    "x" + "+x" * 4000,
    "x" + "*(x+1)" * 800,
    "abs(" + "+".join(f"{i}*x^{i}*y" for i in range(1, 500)) + ")",
    "max(" + ", ".join(f"x^{i}" for i in range(30)) + ")",
    "min(min(min(x, y), max(x, t)), max(y, abs(t)))",
    "sqrt((x + y + t)^2)" * 1,
    "mod((x + y)^9, x - y)",
    "floor((x + y + 1)^20)",
    "(u + x + y + t + 1)^900",
    "diff(exp(sin(x*u)*cos(x)), x, 16)",
    "diff(x^x^x^x, x, 9)",
    "laplacian(laplacian(laplacian(sin(u)*u^9)))",
    "div([x, y, t])",
    "grad(grad(u))",
    "hold(hold(x + x) + x)",
    "hold(2^(10^9))",
    "u_" + "x" * 60,
    "u_" + "xy" * 5,
    "u" * 1000,
    "х + y",
    "ｘ",
    "u²",
    "x − y",
    "x × y",
    "π",
    "∂u/∂x",
    "x\u202ey",
    "x\u200by",
    "\ufeffx",
    "😀",
    "u = = v",
    "= u",
    "u =",
    "x = 0 and y = 1 or not (t < 1 and x != 2)",
    "0 < x < y <= t",
    "python(f, x)",
    "if(x < 0, 1, 2)",
    "if(x < 0 and y > sin(x), u, x = 1, v, 0)",
    "piecewise(x < 0, 1)",
    "tan(pi/2)",
    "log(0)",
    "acos(2)",
    "0^0",
    "0/0",
    "sign(exp(700) - exp(700)*(1 + 10^-300))",
    "abs(sin(10^300))",
)

SENTENCES = (
    "u_t = k*laplacian(u) + sin(pi*x)",
    "u_xx + u_yy = -2*pi^2*sin(pi*x)*sin(pi*y)",
    "diff(u, x, 2) + diff(u, x, x, y) = 0",
    "div(k*grad(u)) - dot([x, y], grad(v)) = exp(-(x^2 + y^2)/0.02)",
    "u_t + u*u_x - 0.01*u_xx",
    "grad(u) = [x, y]",
    "dn(u) + 2.5e-3*u^4 = heaviside(x - 0.5)",
    "besselj(0, x)*erf(y) + atan2(y, x)",
    "hold(2*(x + y)) + float(0.1, 100)",
    "x = 0 and 0 < y <= 0.5 or not t > 1",
    "if(x < 1/2, abs(u), max(x, y, 0))",
)

CORPUS = ATTACKS + SENTENCES
SHORT = tuple(text for text in CORPUS if len(text) < 200)
"""Inputs that are rejected or read quickly, for long runs."""

FILES = (
    """title = "Poisson"
unknowns = ["u"]
equations = ["laplacian(u) = -k"]
[domain]
x = [0, 1]
y = [0, "2*pi"]
[parameters]
k = 2.5
[[conditions]]
dirichlet = "u"
value = 0
on = "x = 0"
[[conditions]]
robin = "u"
alpha = 1
beta = "k"
value = "sin(y)"
on = "x = 1"
[[conditions]]
neumann = "u"
value = 0
[solve]
tol = 1e-8
[output]
picture = "poisson.png"
""",
    """unknowns = ["u", "v"]
equations = ["u_t = v", "v_t = u_xx + f"]
[domain]
x = [0, 1]
[time]
t = [0, 0.5]
[definitions]
f = "sin(u)*x^2"
[[conditions]]
periodic = "u"
coordinate = "x"
[[conditions]]
initial = "u"
value = "cos(2*pi*x)"
[[conditions]]
initial = "v"
value = 0
""",
    """unknowns = ["u"]
equations = ["u_xx + u_yy = if(inside(hole), 1, -1)"]
[shapes]
plate = { box = { x = [0, 2], y = [0, 1] } }
hole = { disk = { center = { x = 0.5, y = 0.5 }, radius = 0.2 } }
slot = { shape = "hole", scaled = 0.5, turned = "pi/4", moved = [0.9, 0] }
part = { polygon = { coordinates = ["x", "y"], vertices = [[0, 0], [1, 0], [0, 1]] } }
[domain]
shape = "plate - (hole | slot)"
[[conditions]]
neumann = "u"
value = 1
on = "hole"
[[conditions]]
dirichlet = "u"
value = 0
""",
    """unknowns = ["u"]
equations = ["u_xx + u_yy + u_zz = 1"]
domain = { shape = "body" }
shapes = { body = { ball = { center = { x = 0, y = 0, z = 0 }, radius = 2 } } }
conditions = [{ dirichlet = "u", value = 0 }]
""",
    """equations = ["u_t = -k*u"]
domain = { t = [0, 2] }
conditions = [{ initial = "u", value = 1 }]
[parameters]
k = 1.0
[[data]]
file = "measured.csv"
points = { t = "hours" }
values = ["first", "second"]
sigma = 0.1
where = { hours = [0.1, 2] }
[fit]
unknown = { k = [0, 10] }
""",
)

_NAMES = ("x", "y", "t", "u", "v", "k", "u_x", "u_xx", "v_xy", "u_t", "pi", "e", "w")
_FUNCTIONS = ("sin", "cos", "tan", "exp", "log", "sqrt", "abs", "sign", "tanh", "asin", "atan", "floor",
              "erf", "heaviside", "laplacian", "dn", "gamma", "sinh", "acosh", "hold", "grad",
              "div")  # fmt: skip
_NUMBERS = ("0", "1", "2", "3", "-1", "1/2", "0.1", "1e-3", "7", "10", "100", "0.30000000000000004", "1e300")
_VALUE = re.compile(r'"[^"\n]*"|(?<=[ \[])-?\d+(?:\.\d+)?(?:e-?\d+)?')
_TOKENS = ("(", ")", "[", "]", ",", "+", "-", "*", "/", "^", "**", "=", "<", ">=", "!=", " and ", " or ",
           "not ", "_", ".", "e", "1", "x", "u", "'", '"', ";", "\n", "\\", "{", "}", "#", "\x00", "é", "²",
           "if(", "diff(", "max(", "true", "9^9", "1e308", "1e300",
           "1e-300", "-1", "::", "x_", "u_x")  # fmt: skip


def expression(rng: random.Random, depth: int) -> str:
    """Return a random expression that the grammar allows, meaningful or not."""
    if depth <= 0 or rng.random() < 0.15:
        return rng.choice(_NAMES if rng.random() < 0.6 else _NUMBERS)
    kind, inner = rng.random(), depth - 1
    if kind < 0.35:
        parts = [expression(rng, inner) for _ in range(rng.randint(2, 4))]
        return rng.choice((" + ", " - ")).join(parts)
    if kind < 0.6:
        parts = [f"({expression(rng, inner)})" for _ in range(rng.randint(2, 3))]
        return rng.choice(("*", "/")).join(parts)
    if kind < 0.7:
        exponent = rng.choice(("2", "3", "-1", "(1/2)", "0.3", "x", f"({expression(rng, inner)})", "17"))
        return f"({expression(rng, inner)})^{exponent}"
    if kind < 0.85:
        return f"{rng.choice(_FUNCTIONS)}({expression(rng, inner)})"
    if kind < 0.9:
        variables = ", ".join(rng.choice(("x", "y", "t", "2")) for _ in range(rng.randint(1, 3)))
        return f"diff({expression(rng, inner)}, {variables})"
    if kind < 0.94:
        two = f"{expression(rng, inner)}, {expression(rng, inner)}"
        return f"{rng.choice(('max', 'min', 'atan2', 'mod', 'dot', 'besselj', 'log', 'legendre'))}({two})"
    if kind < 0.97:
        condition = f"{expression(rng, 1)} {rng.choice('<>=')} {expression(rng, 1)}"
        return f"if({condition}, {expression(rng, inner)}, {expression(rng, inner)})"
    return (
        f"-{expression(rng, inner)}"
        if rng.random() < 0.5
        else f"[{expression(rng, 1)}, {expression(rng, 1)}]"
    )


def mutated(text: str, rng: random.Random) -> str:
    """Return the text after a few random deletions, duplications, insertions and replacements."""
    for _ in range(rng.randint(1, 4)):
        at, to = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        match rng.randrange(5):
            case 0:
                text = text[:at] + text[min(to, at + 8) :]
            case 1:
                text = text[:at] + text[at : min(to, at + 40)] * 2 + text[at:]
            case 2:
                text = text[:at] + rng.choice(_TOKENS) + text[at:]
            case 3:
                text = text[:at] + rng.choice(SENTENCES) + text[at:]
            case _:
                text = (
                    text[:at] + chr(rng.choice((rng.randrange(128), rng.randrange(0x3000)))) + text[at + 1 :]
                )
    return text


def altered(text: str, rng: random.Random) -> str:
    """Return a problem file with one or two values replaced; it is still valid TOML."""
    for _ in range(rng.randint(1, 2)):
        found = list(_VALUE.finditer(text))
        value = rng.choice(found)
        if value.group().startswith('"'):
            new = rng.choice(
                (expression(rng, 2), rng.choice(found).group().strip('"'), rng.choice(SENTENCES))
            )
            new = f'"{new}"'
        else:
            new = rng.choice(
                ("0", "-1", "1e300", "1e-300", "1e80", "nan", "inf", "true", "[]", "{}", '"x"', "7")
            )
        text = text[: value.start()] + new + text[value.end() :]
    return text


def noise(rng: random.Random) -> str:
    """Return random tokens of the language or random characters."""
    if rng.random() < 0.7:
        return "".join(rng.choice(_TOKENS + _NAMES) for _ in range(rng.randint(0, 30)))
    return "".join(chr(rng.randrange(0x2FFF)) for _ in range(rng.randint(0, 20)))
