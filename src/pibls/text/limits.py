"""Limits on the size of texts and expressions, far above what equations written by hand need."""

from __future__ import annotations

MAX_LENGTH = 20_000
"""Maximum number of characters of a text."""

MAX_NODES = 5_000
"""Maximum number of names, numbers and operators of a text."""

MAX_DEPTH = 100
"""Maximum nesting depth of parentheses, signs, powers and arguments."""

MAX_NAME = 64
"""Maximum number of characters of a name."""

MAX_DIGITS = 400
"""Maximum number of digits of a number literal."""

MAX_DECIMAL_EXPONENT = 400
"""Maximum |k| of a number literal 1ek; floating point ends at 308."""

MAX_BITS = 4096
"""Maximum number of bits of numerator and denominator together of an exact number."""

MAX_RADICAL_BITS = 256
"""The same limit for a number under a root, which SymPy tries to factor."""

MAX_PRECISION = 1024
"""Maximum number of bits in float(0.1, bits)."""

MAX_EXPONENT = 1_000
"""Maximum |k| of f^k with a constant k, unless f is a number (then MAX_BITS applies)."""

MAX_GROWTH = 10_000.0
"""Maximum |f| of c^f with a constant c, for coordinates and unknowns of size one."""

MAX_ORDER = 16
"""Maximum order of a derivative."""

MAX_SPECIAL = 100
"""Maximum absolute value of a constant argument of a special function: gamma(100) has 158 digits."""

MAX_SIZE = 10_000
"""Maximum number of nodes of the SymPy expression, with definitions substituted."""

MAX_HEIGHT = 60
"""Maximum depth of the SymPy expression, with definitions substituted."""

MAX_TERMS = 5_000
"""Maximum number of terms in the unknowns after expansion, which the test for linearity does."""

MAX_COMPONENTS = 10
"""Maximum number of components of a vector and of coordinates of a domain."""

MAX_WORK = 60_000
"""Work units (`work_budget`) that SymPy may spend on one text: about half a second."""
