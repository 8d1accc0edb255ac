"""A long fuzz run of the text parser and the problem-file reader.

    python -m benchmarks.fuzz_text --count 100000 --seed 0
    python -m benchmarks.fuzz_text --count 100000 --atheris          (where atheris is installed)

Every input must either be read or be refused with a `ProblemError`; anything else is a crash. Inputs
that are read are also written and read again, and must come back equal. Times are of the processor, so
that a busy machine does not count as a slow parser.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import sympy as sp
from sympy.core.cache import clear_cache

from benchmarks.fuzz_inputs import CORPUS, FILES, SHORT, altered, expression, mutated, noise
from pibls.errors import ProblemError
from pibls.io import parse_problem
from pibls.text import Names, TextPrinter, parse_equations, parse_relation

NAMES = Names.of("x y t", unknowns="u v", time="t", k=sp.Rational(5, 2), w=(sp.Integer(1), sp.Symbol("x")))
SLOW = 1.0
_REPORTED = 25_000  # a coverage-guided run says so often how it stands


@dataclass
class Tally:
    """What a run has seen."""

    inputs: int = 0
    read: int = 0
    crashes: list[tuple[str, str]] = field(default_factory=list)
    unequal: list[str] = field(default_factory=list)
    slow: list[tuple[float, str]] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")

    def add(self, text: str, *attempts: Callable[[str], bool]) -> None:
        """Try one input, in one way after the other until it is read; each is timed by itself."""
        if self.inputs % 2000 == 0:
            clear_cache()  # SymPy remembers everything; a long run would fill the memory
        self.inputs += 1
        for attempt in attempts:
            began = time.process_time()
            is_read = False
            try:
                is_read = attempt(text)
            except Unequal:
                self.unequal.append(text)
            except Exception as problem:
                self.crashes.append((f"{type(problem).__name__}: {problem}"[:200], text))
            seconds = time.process_time() - began
            self.slowest = max(self.slowest, (seconds, text))
            if seconds > SLOW:
                self.slow.append((seconds, text))
            self.read += is_read
            if is_read:
                break

    def report(self) -> str:
        """The figures, in a few lines."""
        lines = [
            f"{self.inputs} inputs, {self.read} read, the others refused",
            f"{len(self.crashes)} crashes, {len(self.unequal)} not equal after writing and reading",
            f"{len(self.slow)} slower than {SLOW} s",
            f"slowest {self.slowest[0]:.3f} s: {self.slowest[1][:200]!r}",
        ]
        lines += [f"crash {reason} in {text[:300]!r}" for reason, text in self.crashes[:20]]
        lines += [f"unequal {text[:300]!r}" for text in self.unequal[:20]]
        lines += [f"slow {seconds:.2f} s {text[:300]!r}" for seconds, text in self.slow[:20]]
        return "\n".join(lines)


class Unequal(Exception):  # noqa: N818 - an outcome
    """Written and read again, an input is not what it was."""


def read_relation(text: str) -> bool:
    """Whether a text is read as a relation."""
    try:
        parse_relation(text, NAMES)
    except ProblemError:
        return False
    return True


def read_equation(text: str, *, write: bool = False) -> bool:
    """Whether a text is read as an equation; if so, it may be written and read again."""
    try:
        equations: tuple[Any, ...] = parse_equations(text, NAMES)
    except ProblemError:
        return False
    if write:
        scribe = TextPrinter(NAMES)
        for equation in equations:
            try:
                scribe.equation(equation)  # compares by itself
            except ProblemError as error:
                if error.remedy.startswith("It reads back"):
                    raise Unequal from error
    return True


def read_file(text: str) -> bool:
    """Whether a problem file is read."""
    try:
        parse_problem(text)
    except ProblemError:
        return False
    return True


def run(count: int, seed: int, write_every: int = 10, file_every: int = 100) -> Tally:
    """A run of the own generator."""
    rng = random.Random(seed)
    tally = Tally()
    with suppress(KeyboardInterrupt):  # then what there is so far is reported
        _fill(tally, count, rng, write_every, file_every)
    return tally


def _fill(tally: Tally, count: int, rng: random.Random, write_every: int, file_every: int) -> None:
    for i in range(count):
        if i % file_every == 0:
            change = mutated if rng.random() < 0.5 else altered
            tally.add(change(rng.choice(FILES), rng), read_file)
            continue
        kind = rng.random()
        if kind < 0.45:
            text = expression(rng, min(rng.randint(0, 5), rng.randint(0, 6)))
        elif kind < 0.8:
            text = mutated(rng.choice(CORPUS if i % 50 == 7 else SHORT), rng)
        elif kind < 0.9:
            text = mutated(expression(rng, rng.randint(0, 4)), rng)
        else:
            text = noise(rng)
        writes = i % write_every == 1
        tally.add(text, lambda t, w=writes: read_equation(t, write=w), read_relation)  # type: ignore[misc]


def run_atheris(count: int, arguments: list[str]) -> Tally:
    """A coverage-guided run; atheris itself decides on the inputs."""
    import atheris  # type: ignore

    tally = Tally()

    def one(data: bytes) -> None:
        text = data.decode("utf-8", errors="replace")
        is_file = text[:1] == "["
        tally.add(text, *([read_file] if is_file else [read_equation, read_relation]))
        if tally.inputs % _REPORTED == 0 or tally.inputs >= count:
            sys.stdout.write(tally.report() + "\n")
            sys.stdout.flush()
        if tally.inputs >= count:
            os._exit(0)  # atheris takes any other way out for a crash

    for function in _own_functions():
        atheris.instrument_func(function)
    atheris.Setup([sys.argv[0], *arguments], one)
    atheris.Fuzz()
    return tally


def _own_functions() -> list[Any]:
    """Every function and method of the parser and the reader."""
    found = []
    for name, module in list(sys.modules.items()):
        if name.startswith(("pibls.text.", "pibls.io.")):
            things = [v for v in vars(module).values() if getattr(v, "__module__", "") == name]
            things += [m for c in things if isinstance(c, type) for m in vars(c).values()]
            found += [f for f in things if isinstance(f, FunctionType)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--files-every", type=int, default=100, help="one input in so many is a problem file")
    parser.add_argument("--atheris", action="store_true", help="coverage-guided, needs atheris")
    options, further = parser.parse_known_args()
    if options.atheris:
        run_atheris(options.count, [f"-seed={options.seed + 1}", *further])
        return
    began = time.perf_counter()
    tally = run(options.count, options.seed, file_every=options.files_every)
    sys.stdout.write(f"{tally.report()}\n{time.perf_counter() - began:.0f} s\n")


if __name__ == "__main__":
    main()
