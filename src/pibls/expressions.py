"""Types of symbolic values: the SymPy classes of expressions, coordinates, unknowns and relations."""

from __future__ import annotations

from typing import TypeAlias

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.logic.boolalg import Boolean

Expression: TypeAlias = sp.Expr
Coordinate: TypeAlias = sp.Symbol
Parameter: TypeAlias = sp.Symbol
Unknown: TypeAlias = AppliedUndef
"""An applied function such as u(x, t)."""
Logical: TypeAlias = Boolean
"""A condition that is true or false at each point: a relation, or And, Or, Not of relations."""
Number: TypeAlias = float | sp.Expr
"""A real number of the user, or a SymPy constant such as sp.pi."""
Equation: TypeAlias = sp.Equality | sp.Expr
"""An ``Eq``, or an expression that is to be zero."""
