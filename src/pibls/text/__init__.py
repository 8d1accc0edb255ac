"""Mathematical text ↔ SymPy, by a grammar of its own. Text is parsed, never evaluated.

>>> names = Names.of("x t", unknowns="u", time="t", k=2)
>>> parse_equation("u_t = k*laplacian(u) + sin(x)", names)
Eq(Derivative(u(x, t), t), sin(x) + 2*Derivative(u(x, t), (x, 2)))
"""

from pibls.text.errors import TextError, nearest
from pibls.text.names import Names
from pibls.text.printing import Scribe
from pibls.text.reading import parse_equation, parse_equations, parse_expression, parse_relation

__all__ = [
    "Names",
    "Scribe",
    "TextError",
    "nearest",
    "parse_equation",
    "parse_equations",
    "parse_expression",
    "parse_relation",
]
