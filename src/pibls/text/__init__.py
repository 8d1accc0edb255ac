"""Conversion between mathematical text and SymPy expressions. Text is parsed, never evaluated.

Numbers are exact (0.1 is 1/10); ``+ - * / ^ **`` bind as in mathematics (-x^2 = -(x^2)); functions are
``sin``, ``exp``, ``sqrt``, ``abs``, ``max``, ``heaviside``, ``besselj``, … (`function_table`); constants
``pi`` and ``e``; cases ``if(x < 1, a, b)``; derivatives ``u_xx``, ``diff(u, x, 2)``, ``laplacian(u)``,
``grad(u)``, ``div(v)``, ``dn(u)``; vectors ``[a, b]`` and ``dot(a, b)``; equations ``left = right``;
relations ``x = 0 and y < 1``, with ``or`` and ``not``. To reproduce SymPy expressions exactly there are
``hold(a + b)``, which is not simplified, and ``float(0.1)``; ``python(f, x)`` names a Python function that
is passed to the parser.

>>> names = Names.of("x t", unknowns="u", time="t", k=2)
>>> parse_equation("u_t = k*laplacian(u) + sin(x)", names)
Eq(Derivative(u(x, t), t), sin(x) + 2*Derivative(u(x, t), (x, 2)))
"""

from pibls.text.errors import TextError, did_you_mean
from pibls.text.names import Names
from pibls.text.parsing import parse_equation, parse_equations, parse_expression, parse_relation
from pibls.text.printing import TextPrinter

__all__ = [
    "Names",
    "TextError",
    "TextPrinter",
    "did_you_mean",
    "parse_equation",
    "parse_equations",
    "parse_expression",
    "parse_relation",
]
