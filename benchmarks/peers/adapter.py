"""What the harness asks of a system: its settings for a case, and one run of one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pibls.arrays import Array
from pibls.cases.case import Case

SEEDS = (0, 1, 2, 3, 4)


class CannotError(Exception):
    """The system cannot express the case; the message is what the table's cell says."""


@dataclass(frozen=True)
class Setting:
    """One configuration of a system for one case.

    ``label`` names it within the system and case ("P2, 150 × 150"); ``values`` are JSON-able and say
    everything that was chosen; the setting with ``table`` is the one that the tables show, the others
    are further points of the work-precision diagram; ``slow`` ones run only in the full benchmark.
    """

    label: str
    values: Mapping[str, Any]
    table: bool = False
    slow: bool = False
    seeds: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Task:
    """One run that is wanted: ``points`` (N, d) is where the solution is compared with the exact one,
    ``scratch`` an existing folder of this run's own for checkpoints."""

    case: Case
    setting: Setting
    seed: int
    points: Array
    threads: int
    scratch: Path


@dataclass(frozen=True)
class Outcome:
    """What a run gave.

    ``values`` (N,) at the task's points; ``seconds`` from the problem to a solution that can be
    evaluated, imports and ``compile_seconds`` (once per form: JIT, code generation) not included;
    ``facts`` are further things measured (unknowns, steps, iterations); ``note`` a sentence for the
    reader; ``capped`` says that the run was ended by its time cap.
    """

    values: Array
    seconds: float
    compile_seconds: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    capped: bool = False


class Adapter(Protocol):
    """A system of the comparison."""

    name: str
    """As on the command line and in file names: "pinn1"."""
    title: str
    """As in the tables: "PINN #1"."""
    packages: Sequence[str]
    """Import names that must be there, for the check and for the recorded versions."""
    install: str
    """How to get them, one line."""
    fairness: str
    """What was done to make it good, and what was left as published."""

    def missing(self) -> str | None:
        """What is absent on this machine, in a word; None if it can run."""

    def settings(self, case: Case) -> list[Setting]:
        """The configurations to run; raises `CannotError`.

        One of them with ``table``, or two, where a capped one stands in for one that takes hours.
        """

    def run(self, task: Task) -> Outcome:
        """One run."""


def absent(packages: Sequence[str]) -> str | None:
    """The first of the packages that cannot be found, without importing any of them."""
    from importlib.util import find_spec

    for name in packages:
        if find_spec(name) is None:
            return f"the package {name} is not installed"
    return None
