"""What a library tells people who write Python, in the language of problem files."""

from __future__ import annotations

IN_FILES = {
    "Write the derivative that you mean with Condition(u.diff(x) - value, on=…).": (
        'Write the derivative that you mean: equation = "u_x = 0".'
    ),
    "Say where it holds with on=…; on=domain is the whole boundary.": (
        'Say where it holds with on = "x = 0"; on = "domain" is the whole boundary.'
    ),
    "Pass the applied function; for other expressions use Condition(equation, on=…).": (
        'Name an unknown; for other expressions write equation = "…".'
    ),
    "Write Initial(u, value) or Initial(u.diff(t), value).": 'Write initial = "u" or initial = "u_t".',
    "Add time with domain.during(t, t0, t1), or use Dirichlet for a side of a box.": (
        "Add a section [time] with t = [0, 1], or use dirichlet for a side of a box."
    ),
    "Check signs and bounds; write sympy.Eq(x, 0), since x == 0 is False in Python; "
    "a symbol declared positive makes Eq(x, 0) false, and there on={x: 0} names the end.": (
        "Check signs and bounds."
    ),
    "A whole side is written as a relation, such as sympy.Eq(x, 0).": (
        'A whole side is written as a relation: on = "x = 0".'
    ),
    "Look for the root of a negative number; the real root is sympy.real_root(…).": (
        "Look for the root of a negative number; the real cube root is sign(x)*abs(x)^(1/3)."
    ),
}
"""Remedy in Python → remedy in a problem file."""
