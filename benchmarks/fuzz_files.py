"""Fuzz run of the file readers: drawings, saved solutions, CSV tables, and arguments of these functions.

    python -m benchmarks.fuzz_files --shapes 6000 --solutions 4500 --tables 500 --arguments 1000 --seed 0

Every input must be read or rejected with an error of pibls; anything else is a crash. An input that takes
more than ten CPU seconds is a hang.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import random
import signal
import struct
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

import pibls
from benchmarks.fuzz_drawings import DRAWINGS, VALUES, mutated, number, valid_drawings
from pibls.errors import PiblsError
from pibls.io.data_file import DataEntry, read_table

HANG = 10.0
"""CPU seconds per input above which it counts as a hang."""
_START = struct.Struct("<8sIQ")
x, y, t = sp.symbols("x y t")


class HangError(Exception):
    """One input took too much CPU time."""


@dataclass
class Tally:
    """Counts of a run: inputs, inputs read, crashes, hangs, and the slowest input."""

    name: str
    inputs: int = 0
    read: int = 0
    crashes: list[str] = field(default_factory=list)
    hangs: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")

    def add(self, described: str, attempt: Callable[[], Any]) -> None:
        """Process one input and count the outcome."""
        self.inputs += 1
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, HANG)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                attempt()
            self.read += 1
        except HangError:
            self.hangs.append(described)
        except PiblsError:
            pass
        except Exception as problem:
            self.crashes.append(
                f"{type(problem).__name__}: {str(problem)[:100]} in {described}{_location(problem)}"
            )
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        self.slowest = max(self.slowest, (time.process_time() - began, described[:120]))

    def report(self) -> str:
        """Return the counts, and the first crashes and hangs."""
        lines = [
            f"{self.name}: {self.inputs} inputs, {self.read} read, {len(self.crashes)} crashes, "
            f"{len(self.hangs)} hangs, slowest {self.slowest[0]:.2f} s ({self.slowest[1]})"
        ]
        return "\n".join([*lines, *(f"  {text}" for text in [*self.crashes, *self.hangs][:30])])


def _location(problem: BaseException) -> str:
    trace = problem.__traceback__
    own = ""
    while trace is not None:
        if "pibls" in trace.tb_frame.f_code.co_filename:
            own = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return own


def _stop(number: int, frame: Any) -> None:
    raise HangError


def use_shape(shape: Any) -> None:
    """Call the domain methods that a problem calls first."""
    rng = np.random.default_rng(0)
    shape.contains(rng.uniform(-1, 1, (16, len(shape.coordinates))))
    repr(shape)
    shape.boundary(8, rng)


def shapes(count: int, seed: int, folder: Path) -> Tally:
    """Read generated and mutated drawings."""
    tally = Tally("drawings")
    valid = valid_drawings()
    for i in range(count):
        rng = random.Random(f"shape {seed} {i}")
        ending = rng.choice(list(DRAWINGS))
        data = DRAWINGS[ending](rng) if i % 2 else rng.choice(valid[ending])
        if rng.random() < 0.5:
            data = mutated(data, rng)
        file = folder / f"drawing{ending}"
        file.write_bytes(data)
        tally.add(f"number {i}, {ending}: {data[:150]!r}", lambda f=file: use_shape(pibls.read_shape(f)))  # type: ignore[misc]
    return tally


# --- saved solutions ------------------------------------------------------------------------------


def saved_solutions(folder: Path) -> list[bytes]:
    """Return saved files of solutions of several kinds."""
    u, v = sp.Function("u"), sp.Function("v")
    line = pibls.Problem(pibls.Interval(x, 0, 1), [u(x).diff(x) - u(x)], [pibls.Initial(u(x), 1)])
    square = pibls.Box({x: (0, 1), y: (0, 1)})
    plane = pibls.Problem(
        square, [u(x, y).diff(x, 2) + u(x, y).diff(y, 2) + 1], [pibls.Dirichlet(u(x, y), 0)]
    )
    heat = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 0.1),
        [u(x, t).diff(t) - u(x, t).diff(x, 2)],
        [pibls.Dirichlet(u(x, t), 0), pibls.Initial(u(x, t), sp.sin(sp.pi * x))],
    )
    both = pibls.Problem(
        pibls.Interval(t, 0, 1),
        [u(t).diff(t) - v(t), v(t).diff(t) + u(t)],
        [pibls.Initial(u(t), 1), pibls.Initial(v(t), 0)],
    )
    out = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for problem, settings in (
            (line, {"basis": pibls.Waves(4, scale=1.0)}),
            (plane, {"tol": 1e-3}),
            (heat, {}),
            (both, {"tol": 1e-4}),
            (line, {}),
        ):
            file = folder / "base.pibls"
            pibls.solve(problem, **settings).save(file)  # type: ignore[arg-type]
            out.append(file.read_bytes())
    return out


def with_valid_checksum(data: bytes, rng: random.Random) -> bytes:
    """Return a modified file with a valid checksum."""
    signature, version, length = _START.unpack(data[: _START.size])
    header = json.loads(data[_START.size : _START.size + length])
    numbers = bytearray(data[_START.size + length : -32])
    for _ in range(rng.randint(1, 3)):
        node, key = _random_entry(header, rng)
        match rng.randrange(6):
            case 0:
                node[key] = copy.deepcopy(rng.choice(VALUES))
            case 1 if isinstance(node, dict):
                del node[key]
            case 2:
                other, where = _random_entry(header, rng)
                node[key] = copy.deepcopy(other[where])
            case 3 if isinstance(header.get("notes"), dict):
                names = (
                    "stopped",
                    "promised",
                    "layers",
                    "lost",
                    "told",
                    "imbalance",
                    "growth",
                    "cell_errors",
                    "engine",
                    "function_jumps",
                    "other",
                )
                header["notes"][rng.choice(names)] = copy.deepcopy(rng.choice(VALUES))
                if rng.random() < 0.5:
                    header["status"] = rng.choice(list(pibls.Status.__members__))
            case 4 if numbers:
                at = rng.randrange(len(numbers) // 8) * 8
                value = rng.choice((0.0, -1.0, np.nan, np.inf, 1e300, 1e-300, 7.0))
                numbers[at : at + 8] = struct.pack("<d", value)
            case _ if isinstance(node[key], (int, float)) and not isinstance(node[key], bool):
                node[key] = rng.choice((node[key] + 1, -node[key], 2 * node[key], 10**9))
            case _:
                pass
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    body = _START.pack(signature, version, len(text)) + text + bytes(numbers)
    return body + hashlib.sha256(body).digest()


def _random_entry(node: Any, rng: random.Random) -> tuple[Any, Any]:
    """Return a random container in a JSON value and one of its keys."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = rng.choice(keys)
        inner = node[key]
        if not isinstance(inner, (dict, list)) or not inner or rng.random() < 0.25:
            return node, key
        node = inner


def load_and_use(file: Path) -> None:
    """Load a solution and use its common attributes."""
    solution = pibls.load(file)
    _ = solution.message, solution.summary(), repr(solution), solution.error.max, solution.nodes
    middle = [0.5 * (a + b) for a, b in solution.problem.domain.bounds]
    for u in solution.problem.unknowns:
        solution[u](*middle)
    solution.error.over_time()


def solutions(count: int, seed: int, folder: Path) -> Tally:
    """Read damaged and modified solution files."""
    tally = Tally("solution files")
    bases = saved_solutions(folder)
    file = folder / "forged.pibls"
    for i in range(count):
        rng = random.Random(f"solution {seed} {i}")
        base = rng.choice(bases)
        data = mutated(base, rng) if rng.random() < 0.15 else with_valid_checksum(base, rng)
        file.write_bytes(data)
        tally.add(f"number {i}", lambda: load_and_use(file))
    return tally


# --- tables and arguments -------------------------------------------------------------------------


def tables(count: int, seed: int, folder: Path) -> Tally:
    """Read random CSV files."""
    tally = Tally("CSV files")
    u = sp.Function("u")(x)
    file = folder / "table.csv"
    for i in range(count):
        rng = random.Random(f"table {seed} {i}")
        names = rng.choice(
            (
                ["x", "u", "sigma"],
                ["u", "x", "", "sigma"],
                rng.choices(("x", "u", "sigma", "t", " x ", "", '"x"', "x,"), k=rng.randrange(1, 5)),
            )
        )
        rows = [",".join(names)]
        for _ in range(rng.randrange(8)):
            rows.append(",".join(number(rng) for _ in range(len(names) + (rng.random() < 0.1))))
            rows += [""] * (rng.random() < 0.2)
        data = (
            rng.choice(("\n", "\r\n", "\r")).join(rows).encode(rng.choice(("utf-8", "utf-8-sig", "utf-16")))
        )
        file.write_bytes(mutated(data, rng) if rng.random() < 0.5 else data)
        entry = DataEntry(
            "table.csv", u, {x: rng.choice(("x", 0.5))}, ("u",), rng.choice((None, "sigma", 0.1))
        )

        def attempt(entry: DataEntry = entry) -> None:
            read_table(file)
            entry.load(folder)

        tally.add(f"number {i}: {data[:150]!r}", attempt)
    return tally


def arguments(count: int, seed: int, folder: Path) -> Tally:
    """Pass invalid arguments to `read_shape`, `load` and `Data`."""
    tally = Tally("arguments")
    u = sp.Function("u")(x)
    square = folder / "square.svg"
    square.write_text('<svg><rect width="1" height="1"/></svg>')
    invalid: list[Any] = [
        *VALUES,
        b"x",
        b"\0",
        "\0",
        "a\0.svg",
        "a.svg",
        ".svg",
        folder,
        square,
        np.nan,
        np.zeros((2, 0)),
        np.array(["a"]),
        np.ma.masked,
        np.ma.array([1.0], mask=True),
        np.array([1.0, 2.0]),
        [1.0, None],
        [[1.0], [2.0, 3.0]],
        object(),
        x,
        u,
        (x, y),
        (x, x),
        (x, u),
        ("x", "y"),
        {x: [1.0]},
        {x: "a"},
        {u: 1.0},
        {"x": 1.0},
        {x: 1 + 2j},
        1j,
        sp.pi,
        sp.I,
        sp.nan,
        np.array([1, 2], dtype="datetime64[s]"),
        lambda v: v,
        type,
        range(3),
        iter([1.0]),
        "x" * 5000,
    ]
    for i in range(count):
        rng = random.Random(f"argument {seed} {i}")
        a, b, c, d = (rng.choice(invalid) for _ in range(4))
        match i % 4:
            case 0:
                tally.add(f"read_shape({a!r:.80}, {b!r:.80})", lambda a=a, b=b: pibls.read_shape(a, b))  # type: ignore[misc]
            case 1:
                tally.add(f"read_shape(square, {b!r:.80})", lambda b=b: pibls.read_shape(square, b))  # type: ignore[misc]
            case 2:
                tally.add(f"load({a!r:.80})", lambda a=a: pibls.load(a))  # type: ignore[misc]
            case _:
                first = rng.choice((u, a))
                where = rng.choice(({x: b}, {x: [1.0, 2.0]}, b))
                tally.add(
                    f"Data({first!r:.80}, {where!r:.80}, {c!r:.80}, sigma={d!r:.80})",
                    lambda f=first, p=where, c=c, d=d: pibls.Data(f, p, c, sigma=d),  # type: ignore[misc]
                )
    return tally


RUNS: dict[str, tuple[Callable[[int, int, Path], Tally], int]] = {
    "shapes": (shapes, 6000),
    "solutions": (solutions, 4500),
    "tables": (tables, 500),
    "arguments": (arguments, 1000),
}


def run(name: str, count: int, seed: int) -> Tally:
    """Run one of the fuzz runs in a temporary folder."""
    signal.signal(signal.SIGPROF, _stop)
    with tempfile.TemporaryDirectory() as folder:
        return RUNS[name][0](count, seed, Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, (_, count) in RUNS.items():
        parser.add_argument(f"--{name}", type=int, default=count, help="number of inputs")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in RUNS:
        count = getattr(options, name)
        if count:
            sys.stdout.write(run(name, count, options.seed).report() + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
