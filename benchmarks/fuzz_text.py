"""Long fuzz run of the text parser and the problem-file reader.

    python -m benchmarks.fuzz_text --count 100000 --seed 0
    python -m benchmarks.fuzz_text --count 100000 --atheris          (where atheris is installed)

Every input must be read or rejected with a `ProblemError`; anything else is a crash. Inputs that are read are
also written and read again, and must be equal. Times are CPU times, which depend little on the load of the
machine.
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
SLOW_SECONDS = 1.0
_REPORT_INTERVAL = 25_000  # inputs between two reports of a coverage-guided run


@dataclass
class Tally:
    """Counts of a run: inputs, inputs read, crashes, failed round trips, slow inputs."""

    inputs: int = 0
    read: int = 0
    crashes: list[tuple[str, str]] = field(default_factory=list)
    unequal: list[str] = field(default_factory=list)
    slow: list[tuple[float, str]] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")

    def add(self, text: str, *attempts: Callable[[str], bool]) -> None:
        """Try the readers one after the other until one reads the input; each is timed separately."""
        if self.inputs % 2000 == 0:
            clear_cache()  # the cache of SymPy would fill the memory in a long run
        self.inputs += 1
        for attempt in attempts:
            began = time.process_time()
            is_read = False
            try:
                is_read = attempt(text)
            except RoundTripError:
                self.unequal.append(text)
            except Exception as problem:
                self.crashes.append((f"{type(problem).__name__}: {problem}"[:200], text))
            seconds = time.process_time() - began
            self.slowest = max(self.slowest, (seconds, text))
            if seconds > SLOW_SECONDS:
                self.slow.append((seconds, text))
            self.read += is_read
            if is_read:
                break

    def report(self) -> str:
        """Return the counts as text."""
        lines = [
            f"{self.inputs} inputs, {self.read} read, the others rejected",
            f"{len(self.crashes)} crashes, {len(self.unequal)} not equal after writing and reading",
            f"{len(self.slow)} slower than {SLOW_SECONDS} s",
            f"slowest {self.slowest[0]:.3f} s: {self.slowest[1][:200]!r}",
        ]
        lines += [f"crash {reason} in {text[:300]!r}" for reason, text in self.crashes[:20]]
        lines += [f"unequal {text[:300]!r}" for text in self.unequal[:20]]
        lines += [f"slow {seconds:.2f} s {text[:300]!r}" for seconds, text in self.slow[:20]]
        return "\n".join(lines)


class RoundTripError(Exception):
    """An input differs after writing and reading it again."""


def read_relation(text: str) -> bool:
    """Return whether a text is read as a relation."""
    try:
        parse_relation(text, NAMES)
    except ProblemError:
        return False
    return True


def read_equation(text: str, *, write: bool = False) -> bool:
    """Return whether a text is read as an equation; optionally also test the round trip."""
    try:
        equations: tuple[Any, ...] = parse_equations(text, NAMES)
    except ProblemError:
        return False
    if write:
        printer = TextPrinter(NAMES)
        for equation in equations:
            try:
                printer.equation(equation)  # compares by itself
            except ProblemError as error:
                if error.remedy.startswith("It reads back"):
                    raise RoundTripError from error
    return True


def read_file(text: str) -> bool:
    """Return whether a problem file is read."""
    try:
        parse_problem(text)
    except ProblemError:
        return False
    return True


def run(count: int, seed: int, write_every: int = 10, file_every: int = 100) -> Tally:
    """Run with random inputs of `benchmarks.fuzz_inputs`."""
    rng = random.Random(seed)
    tally = Tally()
    with suppress(KeyboardInterrupt):  # report the counts so far
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
    """Run with inputs chosen by atheris, guided by coverage."""
    import atheris  # type: ignore

    tally = Tally()

    def one(data: bytes) -> None:
        text = data.decode("utf-8", errors="replace")
        is_file = text[:1] == "["
        tally.add(text, *([read_file] if is_file else [read_equation, read_relation]))
        if tally.inputs % _REPORT_INTERVAL == 0 or tally.inputs >= count:
            sys.stdout.write(tally.report() + "\n")
            sys.stdout.flush()
        if tally.inputs >= count:
            os._exit(0)  # atheris counts any other exit as a crash

    for function in _own_functions():
        atheris.instrument_func(function)
    atheris.Setup([sys.argv[0], *arguments], one)
    atheris.Fuzz()
    return tally


def _own_functions() -> list[Any]:
    """Return all functions and methods of the parser and the reader."""
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
    parser.add_argument("--count", type=int, default=10_000, help="number of inputs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--files-every", type=int, default=100, help="every n-th input is a problem file")
    parser.add_argument("--atheris", action="store_true", help="coverage-guided run (requires atheris)")
    options, further = parser.parse_known_args()
    if options.atheris:
        run_atheris(options.count, [f"-seed={options.seed + 1}", *further])
        return
    began = time.perf_counter()
    tally = run(options.count, options.seed, file_every=options.files_every)
    sys.stdout.write(f"{tally.report()}\n{time.perf_counter() - began:.0f} s\n")


if __name__ == "__main__":
    main()
