"""Writing of problem files: TOML that parses back to the same problem.

Python functions cannot be written. They appear in the text as ``python(name)`` and must be passed when it is
parsed: ``parse_problem(text, functions=python_functions(problem))``. Domains of user-defined classes cannot
be written at all.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.arrays import PointFunction
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Expression
from pibls.geometry import is_box, is_domain, space_of, time_of
from pibls.geometry.shape import inside_condition
from pibls.io.shape_writer import ShapeTables
from pibls.io.symbols import assumption_words, check_symbol_name, function_assumption_words
from pibls.problem import Condition, Dirichlet, Initial, Neumann, Periodic, Problem, Robin
from pibls.problem.arguments import ConditionValue, Place
from pibls.problem.forms.known import implementation, indicator_shapes, is_known, is_shape_indicator
from pibls.runtime.pickling import callable_name
from pibls.text import Names, TextPrinter
from pibls.text.function_table import FUNCTIONS
from pibls.text.names import check_name

if TYPE_CHECKING:
    from pibls.geometry.protocol import Domain
    from pibls.problem.conditions import BaseCondition

_RESERVED_NAMES = (
    *FUNCTIONS,
    "shape",
    "title",
    "unknowns",
    "equations",
    "parameters",
    "tol",
    "domain",
    "space",
)
"""Names that are reserved in problem files or in texts."""


def problem_text(
    problem: Problem, *, title: str = "", settings: Mapping[str, float | None] | None = None
) -> str:
    """Return the text of a problem file; ``settings`` are those of `pibls.solve`.

    >>> import sympy as sp, pibls
    >>> x = sp.Symbol("x")
    >>> u = sp.Function("u")(x)
    >>> print(problem_text(pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x) - u], [pibls.Initial(u, 1)])))
    unknowns = ["u"]
    equations = [
        "-u + u_x",
    ]
    <BLANKLINE>
    [domain]
    x = [0, 1]
    <BLANKLINE>
    [[conditions]]
    initial = "u"
    value = 1
    <BLANKLINE>
    """
    writer = _Writer(problem)
    lines = [f"title = {_quoted(title)}"] * bool(title)
    lines += writer.equations() + writer.domain() + writer.parameters() + writer.conditions()
    given = {k: v for k, v in (settings or {}).items() if v is not None}
    if given:
        lines += ["", "[solve]", *(f"{key} = {_setting_text(value)}" for key, value in given.items())]
    return "\n".join(lines) + "\n"


def python_functions(problem: Problem) -> dict[str, PointFunction]:
    """Return the Python functions of a problem, by the names that `problem_text` gives them.

    >>> import sympy as sp, pibls
    >>> x = sp.Symbol("x")
    >>> u = sp.Function("u")(x)
    >>> conditions = [pibls.Dirichlet(u, abs)]
    >>> python_functions(pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x, 2)], conditions))
    {'abs': <built-in function abs>}
    """
    found: list[PointFunction] = []
    for function in _functions(problem):
        if not any(f is function for f in found):
            found.append(function)
    names = [callable_name(f) for f in found]
    return dict(zip(_aliases(names), found, strict=True))


def _functions(problem: Problem) -> list[PointFunction]:
    found: list[PointFunction] = []
    expressions = [*problem.equations]
    for condition in problem.conditions:
        parts = vars(condition)
        values = [parts[k] for k in ("value", "alpha", "beta") if k in parts]
        found += [v for v in values if callable(v) and not isinstance(v, sp.Basic)]
        expressions += [v for v in values if isinstance(v, sp.Basic)]
        expressions += [parts[k] for k in ("equation", "expression") if k in parts]
    for e in expressions:
        if isinstance(e, sp.Basic):
            terms = sorted(filter(is_known, e.atoms(AppliedUndef)), key=sp.default_sort_key)
            found += [implementation(term) for term in terms if not is_shape_indicator(term)]
    return found


def _shapes_in_conditions(problem: Problem) -> list[Domain]:
    """Return the shapes without a formula whose insides occur in equations and conditions."""
    found: list[Domain] = []
    for e in [*problem.equations, *(v for c in problem.conditions for v in vars(c).values())]:
        for shape in indicator_shapes(e) if isinstance(e, sp.Basic) else ():
            if not any(s is shape for s in found):
                found.append(shape)
    return found


class _Writer:
    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        coordinates, unknowns = problem.coordinates, problem.unknowns
        for symbol in (*coordinates, *problem.parameters):
            _check_symbol(symbol)
        words = [*coordinates, *(u.func for u in unknowns), *problem.parameters]
        aliases = iter(_aliases([*map(str, words)], reserved=_RESERVED_NAMES))
        self._coordinates = {name: c for c, name in zip(coordinates, aliases, strict=False)}
        self._unknowns = {name: u for u, name in zip(unknowns, aliases, strict=False)}
        self._parameters = {name: k for k, name in zip(problem.parameters, aliases, strict=False)}
        time = time_of(problem.domain)
        self._time = next((n for n, c in self._coordinates.items() if c == time), None)
        functions = python_functions(problem)
        names = Names(self._coordinates, self._unknowns, self._time, self._parameters, functions)
        self._functions = names.functions
        self._printer = TextPrinter(names)
        self._shapes = ShapeTables(self._name, lambda e: self._printer.expression(e, argument="domain"))
        inside_relations = {self._shapes.leaf(s): inside_condition(s) for s in _shapes_in_conditions(problem)}
        self._printer = TextPrinter(replace(names, inside_relations=inside_relations))

    def equations(self) -> list[str]:
        texts = [
            self._printer.equation(e, argument=f"equation {i + 1}")
            for i, e in enumerate(self._problem.equations)
        ]
        order = self._problem.coordinates
        words = [
            name if u.args == order else f"{name}({', '.join(self._name(a) for a in u.args)})"
            for name, u in self._unknowns.items()
        ]
        return [
            f"unknowns = [{', '.join(map(_quoted, words))}]",
            "equations = [",
            *(f"    {_quoted(text)}," for text in texts),
            "]",
        ]

    def domain(self) -> list[str]:
        domain = self._problem.domain
        space = space_of(domain)
        out = ["", "[domain]"]
        if is_box(space):
            out += self._sides(space)
            if self._shapes.lines:
                out += ["", "[shapes]", *self._shapes.lines]
        else:
            shape = self._shapes.text(space)
            for condition in self._problem.conditions:
                if self._is_shape(condition.on):
                    self._shapes.leaf(condition.on)
            out += [f"shape = {_quoted(shape)}", "", "[shapes]", *self._shapes.lines]
        if self._time is not None:
            low, high = domain.bounds[-1]
            out += ["", "[time]", f"{self._time} = [{_number_text(low)}, {_number_text(high)}]"]
        return out + self._extras()

    def _sides(self, space: Domain) -> list[str]:
        return [
            f"{self._name(c)} = [{_number_text(low)}, {_number_text(high)}]"
            for c, (low, high) in zip(space.coordinates, space.bounds, strict=True)
        ]

    def _extras(self) -> list[str]:
        symbols = {**self._coordinates, **self._parameters}
        everything = {**symbols, **{n: u.func for n, u in self._unknowns.items()}}
        aliases = [(n, str(s)) for n, s in everything.items() if str(s) != n]
        facts = [(n, assumption_words(c)) for n, c in symbols.items()]
        facts += [(n, function_assumption_words(u)) for n, u in self._unknowns.items()]
        assumptions = [(n, words) for n, words in facts if words]
        out = []
        if aliases:
            named = [f"{n} = {_quoted(check_symbol_name(s, f'the name of {s}'))}" for n, s in aliases]
            out += ["", "[names]", *named]
        if assumptions:
            words = [f"{n} = [{', '.join(map(_quoted, ws))}]" for n, ws in assumptions]
            out += ["", "[assumptions]", *words]
        return out

    def parameters(self) -> list[str]:
        values = self._problem.parameters
        lines = [f"{name} = {_number_text(values[k])}" for name, k in self._parameters.items()]
        return ["", "[parameters]", *lines] if lines else []

    def conditions(self) -> list[str]:
        out = []
        for condition in self._problem.conditions:
            out += ["", "[[conditions]]", *self._condition(condition)]
        return out

    def _condition(self, c: BaseCondition) -> list[str]:
        match c:
            case Periodic():
                return [self._subject("periodic", c.u), f"coordinate = {_quoted(self._name(c.x))}"]
            case Initial():
                return [self._subject("initial", c.expression), self._value("value", c.value)]
            case Condition():
                equation = self._printer.equation(c.equation, argument=c.label)
                return [f"equation = {_quoted(equation)}", *self._on(c)]
            case Robin():
                pairs = [("alpha", c.alpha), ("beta", c.beta), ("value", c.value)]
                return [self._subject("robin", c.u), *(self._value(*p) for p in pairs), *self._on(c)]
            case Dirichlet() | Neumann():
                kind = type(c).__name__.lower()
                return [self._subject(kind, c.u), self._value("value", c.value), *self._on(c)]
        raise ProblemError(
            "problem_text(problem)",
            expected="a condition class of pibls",
            got=repr(c),
            remedy="Use Condition(…).",
        )

    def _subject(self, kind: str, subject: Expression) -> str:
        return f"{kind} = {_quoted(self._printer.expression(subject, argument=kind))}"

    def _value(self, key: str, value: ConditionValue) -> str:
        return f"{key} = {self._number(value, key)}"

    def _number(self, value: ConditionValue, argument: str) -> str:
        if callable(value) and not isinstance(value, sp.Basic):
            name = next(n for n, f in self._functions.items() if f is value)
            return _quoted(f"python({name})")
        expression = sp.sympify(value)
        if isinstance(expression, sp.Integer) and abs(expression) < 10**9:
            return str(expression)
        return _quoted(self._printer.expression(expression, argument=argument))

    def _on(self, c: Dirichlet | Neumann | Robin | Condition) -> list[str]:
        on, domain = c.on, self._problem.domain
        if on is None:
            return []
        if isinstance(on, Mapping):
            pairs = [f"{self._name(x)} = {self._number(v, 'on')}" for x, v in on.items()]
            return [f"on = {{ {', '.join(pairs)} }}"]
        if self._is_shape(on):
            return [f"on = {_quoted(self._shapes.leaf(on))}"]
        if is_domain(on):
            return [f"on = {_quoted('domain' if on == domain else 'space')}"]
        return [f"on = {_quoted(self._printer.relation(sp.sympify(on), argument=f'{c.label}: on'))}"]

    def _is_shape(self, on: Place) -> TypeGuard[Domain]:
        """Whether ``on`` is a shape other than the whole domain."""
        domain = self._problem.domain
        return is_domain(on) and not (on == domain or on == space_of(domain))

    def _name(self, symbol: Coordinate) -> str:
        return next((name for name, c in self._coordinates.items() if c == symbol), str(symbol))


def _aliases(names: list[str], *, reserved: Collection[str] = ()) -> list[str]:
    """Return each name, or a replacement if it is invalid, reserved or denotes a derivative."""
    out: list[str] = []
    for name in names:
        letters = _ascii_letters(name)
        numbered = (f"{letters}{i or ''}" for i in range(1000))
        taken = {*reserved, *out, *names}
        plain = _is_valid_name(name) and name not in {*reserved, *out}
        if plain and not any(name.startswith(f"{other}_") for other in names):
            out.append(name)
        else:
            out.append(next(n for n in numbered if n not in taken and _is_valid_name(n)))
    return out


def _ascii_letters(name: str) -> str:
    """Return the ASCII letters of a name, with Greek letters spelled out: theta for θ."""
    letters = ""
    for character in name:
        word = unicodedata.name(character, "").removeprefix("GREEK SMALL LETTER ")
        spelled = word.lower() if word.isalpha() else character
        letters += spelled if spelled.isascii() and spelled.isalnum() else ""
    return letters.lstrip("0123456789")[:32] or "f"


def _is_valid_name(name: str) -> bool:
    try:
        check_name(name, "name", [])
    except ProblemError:
        return False
    return True


def _check_symbol(symbol: Coordinate) -> None:
    if isinstance(symbol, sp.Dummy):
        raise ProblemError(
            "problem_text(problem)",
            expected="coordinates and parameters that are plain symbols",
            got=f"the dummy {symbol}",
            remedy="Use sympy.Symbol: a dummy is equal to itself only, so no file can restore it.",
        )


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _number_text(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _setting_text(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))
