"""Hostile text: it is rejected quickly with a clear message, and no code in it is executed."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import sympy as sp
from benchmarks.fuzz_inputs import ATTACKS, FILES
from benchmarks.fuzz_text import read_equation, read_file, read_relation, run
from hypothesis import given, settings
from hypothesis import strategies as st

from pibls.errors import ProblemError
from pibls.io import parse_problem
from pibls.text import Names, TextError, parse_equations, parse_expression, parse_relation

NAMES = Names.of("x y t", unknowns="u v", time="t", k=sp.Rational(5, 2))
MAX_SECONDS = 5.0
"""Processor time after which an input counts as a hang; one second is allowed."""


@contextmanager
def time_capped() -> Iterator[None]:
    """Interrupt the block after MAX_SECONDS of processor time, which does not depend on other processes."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise TimeoutError(f"more than {MAX_SECONDS} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class ExecutionAudit:
    """Records when Python compiles, executes, opens or imports anything."""

    def __init__(self) -> None:
        self.on = False
        self.events: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and event in ("exec", "compile", "open", "import", "os.system", "subprocess.Popen"):
            self.events.append(f"{event} {arguments!r:.80}")

    @contextmanager
    def recording(self) -> Iterator[list[str]]:
        self.events.clear()
        self.on = True
        try:
            yield self.events
        finally:
            self.on = False


AUDIT = ExecutionAudit()

HOSTILE_TEXTS: list[tuple[str, str]] = [
    ("x.__class__", "Use a dot in numbers only"),
    ("u.__init__.__globals__", "Use a dot in numbers only"),
    ("().__class__.__bases__[0].__subclasses__()", "Use a dot in numbers only"),
    ("__import__('os').system('true')", "Start names with a letter"),
    ("__builtins__", "Start names with a letter"),
    ("import os", r"Write import\*os"),
    ("from os import system", r"Write from\*os"),
    ("getattr(x, y)", "a known function, got 'getattr'"),
    ("eval(x)", "a known function, got 'eval'"),
    ("exec(x)", "a known function, got 'exec'"),
    ("open(x)", "a known function, got 'open'"),
    ("Symbol(x)", "a known function, got 'Symbol'"),
    ("sympify(x)", "a known function, got 'sympify'"),
    ("Function(u)", "a known function, got 'Function'"),
    ("Integral(x, x)", "a known function, got 'Integral'"),
    ("lambda x: x", "COLON"),
    ("(x := 3)", "COLON"),
    ("[y for y in x]", r"Write y\*for"),
    ("x if y else t", r"Write x\*if"),
    ("f'{x}'", "APOSTROPHE"),
    ('"x"', "strings inside expressions"),
    ("`id`", "strings inside expressions"),
    ("x; y", "one equation at a time"),
    ("$(id)", "DOLLAR SIGN"),
    ("@x", r"Write dot\(a, b\)"),
    ("x # y", "Write comments in the file"),
    ("x\\y", "without a backslash"),
    ("{x}", "round parentheses"),
    ("x\x00y", r"U\+0000"),
    ("x\x1b[31m", r"U\+001B"),
    ("1_000", "Start names with a letter"),
    ("0x1F", r"Write \* between"),
    ("x++", "Complete the expression"),
    ("u = = v", "Write an expression on both sides"),
    ("u = v = x", "an equation, left = right"),
    ("x?y", "QUESTION MARK"),
    # look-alike characters and non-ASCII operators
    ("х + 1", "CYRILLIC SMALL LETTER HA"),
    ("ѕіn(x)", "CYRILLIC SMALL LETTER DZE"),
    ("ｘ", "FULLWIDTH LATIN SMALL LETTER X"),
    ("𝑥", "MATHEMATICAL ITALIC SMALL X"),
    ("u²", r"Write \^2"),
    ("x − y", "ASCII minus sign"),
    ("x × y", r"Write \*"),
    ("π", "Write pi"),
    ("∂u", "Write a derivative as u_x"),
    ("∇u", r"Write grad\(u\)"),
    ("١٢", "ARABIC-INDIC DIGIT ONE"),
    ("x\u202ey", "RIGHT-TO-LEFT OVERRIDE"),
    ("x\u200by", "ZERO WIDTH SPACE"),
    ("\ufeffx", "ZERO WIDTH NO-BREAK SPACE"),
    ("x\u00a0+ y", "NO-BREAK SPACE"),
    ("😀", "GRINNING FACE"),
    # numbers that would exhaust the memory
    ("9^9^9^9", "floating-point range"),
    ("2^10^9", "floating-point range"),
    ("(1/3)^100000", "at most 4096 bits"),
    ("(1 + 1e-9)^(10^9)", "at most 4096 bits"),
    ("x^(10^9)", "exponents of at most 1000"),
    ("(x^1000)^1000", "exponents of at most 1000"),
    ("(3*x)^900000", "exponents of at most 1000"),
    ("x^900*x^900", "exponents of at most 1000"),
    ("2^(10^9*x)", "exponents of at most 1000"),
    ("hold(2^(10^9))", "floating-point range"),
    ("hold((1 + 1e-9)^(10^9))", "at most 4096 bits"),
    ("exp(10^10)", "floating-point range"),
    ("exp(exp(exp(10)))", "floating-point range"),
    ("exp(exp(exp(20*u)))", "nested exponentials"),
    ("sin(exp(exp(20*u)))", "nested exponentials"),
    ("exp(10^9*log(3))", "floating-point range"),
    ("exp(10^9*log(1 + 1e-9))", "at most 4096 bits"),
    ("exp(10^9*log(3) - 1098612288)", "floating-point range"),
    ("exp(1000000*log(x))", "exponents of at most 1000"),
    ("gamma(10^9)", "constants of at most 100 in gamma"),
    ("factorial(10^6)", "constants of at most 100"),
    ("binomial(10^6, 10^5)", "constants of at most 100"),
    ("legendre(10^5, x)", "constants of at most 100"),
    ("besselj(10^9, x)", "constants of at most 100"),
    ("1e999999999", "a number between 1e-400 and 1e400"),
    ("1e-999999999", "a number between 1e-400 and 1e400"),
    ("1e400", "floating-point range"),
    ("1" * 500, "at most 400 digits"),
    ("float(1, 100000)", "a number of bits"),
    ("+".join(f"x/{10**60 + i}" for i in range(200)), "a sum of fractions with more bits"),
    ("*".join(f"{10**60 + i}" for i in range(80)), "floating-point range|at most 4096 bits"),
    ("sqrt(" + "7" * 100 + ")", "roots of numbers of at most 256 bits"),
    # depth, length and cost
    ("(" * 300 + "x" + ")" * 300, "at most 100 levels"),
    ("[" * 300, "at most 100 levels"),
    ("-" * 500 + "x", "at most 100 levels"),
    ("x^" * 300 + "x", "at most 100 levels"),
    ("sin(" * 300 + "x" + ")" * 300, "at most 100 levels"),
    ("not " * 300 + "x = 0", "at most 100 levels"),
    ("sin(" * 90 + "x" + ")" * 90, "depth 60"),
    ("x" + "+x" * 4000, "at most 5000 names, numbers and operators"),
    (" " * 30000, "at most 20000 characters"),
    ("u" * 1000, "a name of at most 64"),
    ("u_" + "x" * 40, "order 16 or lower"),
    ("diff(u, x, 1000000000)", "a whole number from 1 to 16"),
    ("abs(" + "+".join(f"{i}*x^{i}*y" for i in range(1, 500)) + ")", "that SymPy can build quickly"),
    ("floor(" + "+".join(f"{i}*x^{i}*y" for i in range(1, 500)) + ")", "that SymPy can build quickly"),
    ("mod((x + y)^99 + x, (x - y)^99)", r"a constant second argument in mod\(f, c\)"),
    ("diff(exp(sin(x*u)*cos(x)), x, 16)", "that SymPy can build quickly|at most 10000 terms"),
    ("(u + x + y + 1)^900", "terms in the unknowns after expansion"),
    ("*".join(f"(u + {i})" for i in range(30)), "terms in the unknowns after expansion"),
    ("max(" + ", ".join(f"x^{i}" for i in range(30)) + ")", r"1 to 8 argument\(s\) in max"),
    ("[" + ", ".join(["x"] * 50) + "]", "at most 10 components"),
]


@pytest.mark.parametrize(("text", "message"), HOSTILE_TEXTS, ids=[ascii(t)[:40] for t, _ in HOSTILE_TEXTS])
def test_hostile_text_is_rejected_with_a_clear_message(text: str, message: str) -> None:
    for _ in range(2):  # the first time, SymPy may import some of its modules
        with time_capped(), AUDIT.recording() as events, pytest.raises(TextError, match=message):
            parse_equations(text, NAMES)
    assert events == []


@pytest.mark.parametrize("text", ATTACKS, ids=[ascii(t)[:40] for t in ATTACKS])
def test_no_code_is_executed(text: str) -> None:
    """The corpus of the fuzz run, parsed as expression, equation and relation, and inside a file."""
    for _ in range(2):
        with time_capped(), AUDIT.recording() as events:
            for parse in (parse_expression, parse_equations, parse_relation):
                with suppress(ProblemError):
                    parse(text, NAMES)
    assert events == []
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    with time_capped():
        read_file(FILES[0].replace("laplacian(u) = -k", quoted))


def test_strings_are_not_passed_to_sympy(monkeypatch: pytest.MonkeyPatch) -> None:
    """SymPy's parser evaluates Python code, so it must not be called."""
    import sympy.parsing.sympy_parser as parser

    def fail(*_: Any, **__: Any) -> Any:
        raise AssertionError("text was passed to SymPy")

    monkeypatch.setattr(parser, "parse_expr", fail)
    monkeypatch.setattr(parser, "eval_expr", fail)
    for text in ("x", "u_xx = sin(x)", "if(x < 1, float(0.1), besselj(0, x))", "hold(x + x)", "max(x, 1)"):
        parse_equations(text, NAMES)
    parse_problem(FILES[0])


def test_exponentially_growing_definitions_are_rejected() -> None:
    lines = ["equations = ['u_xx = d29']", "domain.x = [0, 1]", "[definitions]", "d0 = 'x + 1/x'"]
    lines += [f"d{i + 1} = 'd{i}*sin(d{i})'" for i in range(29)]
    text = "\n".join([*lines, "[[conditions]]", "dirichlet = 'u'", "value = 0"])
    with time_capped(), pytest.raises(TextError, match="at most 10000 nodes and depth 60"):
        parse_problem(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a" + ".a" * 50_000 + " = 1", "dotted keys"),
        ("a = " + "[" * 10_000, "levels of lists"),
        ("a = " + "{a = " * 10_000, "levels of lists"),
        ("[" + ".".join(["a"] * 1000) + "]", "dotted keys"),
        ("a = " + "9" * 10_000, "shorter numbers"),
        ("x" * 2_000_000, "at most 1000000 characters"),
        ("a = 1\na = 2", "each key once"),
        ("equations = [", "valid TOML"),
        ("\x00", "valid TOML"),
        ('a = "' + "\\u0000" * 10 + '"', "a valid key"),
    ],
    ids=lambda s: s[:20],
)
def test_hostile_file_is_rejected(text: str, message: str) -> None:
    with time_capped(), pytest.raises(ProblemError, match=message):
        parse_problem(text)


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd.png",
        "../x.png",
        "a/../../x.png",
        "C:\\x.png",
        ".bashrc.png",
        "x.png\x00",
        "~/x.png",
        "x.py",
        "",
    ],
)
def test_output_paths_outside_the_folder_are_rejected(name: str) -> None:
    escaped = name.replace("\\", "\\\\").replace("\x00", "\\u0000")
    with pytest.raises(TextError, match=r"output\.picture"):
        parse_problem(FILES[0].replace("poisson.png", escaped))


FRAGMENTS = (
    "(", ")", "[", "]", ",", "+", "-", "*", "/", "^", "=", "<", " and ", "not ", "x", "u", "u_x", "v_xy",
    "sin(", "diff(", "if(", "hold(", "float(", "log(", "1", "0.5", "1e3", "e", "pi", "_", ".", "'", "²",
)  # fmt: skip


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=25))
@settings(max_examples=1000, deadline=None, derandomize=True)
def test_random_fragments_are_parsed_or_rejected(fragments: list[str]) -> None:
    text = "".join(fragments)
    read_equation(text, write=True)
    read_relation(text)


@given(st.text(max_size=40))
@settings(max_examples=1000, deadline=None, derandomize=True)
def test_random_text_is_parsed_or_rejected(text: str) -> None:
    read_equation(text)
    read_relation(text)
    read_file(text)


def test_short_fuzz_run() -> None:
    tally = run(400, seed=1, file_every=20)
    assert (tally.crashes, tally.unequal) == ([], [])
    assert tally.inputs == 400
    assert "0 crashes" in tally.report()


def test_work_limit_covers_the_whole_file() -> None:
    """Each equation takes half a second; one work limit covers the whole file."""
    slow = "laplacian(laplacian(sin(u*x)*u^2 + cos(x*y*u)))"
    equations = ", ".join(f'"u_xx = {i}*{slow}"' for i in range(1, 150))
    text = f"""
equations = [{equations}]
domain = {{ x = [0, 1], y = [0, 1] }}
conditions = [{{ dirichlet = "u", value = 0 }}]
"""
    with pytest.raises(ProblemError, match="takes too long"):
        parse_problem(text)
