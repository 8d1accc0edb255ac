"""Interface of a compared system: its settings for a case, and one run of a setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pibls.arrays import Array
from pibls.cases.case import Case

SEEDS = (0, 1, 2, 3, 4)


class CannotError(Exception):
    """The system cannot express the case; the message is shown in the table."""


@dataclass(frozen=True)
class Setting:
    """One configuration of a system for one case.

    ``label`` identifies it within system and case ("P2, 150 × 150"); ``values`` has all choices, for JSON;
    the tables show the setting with ``table``, the others are further points of the work-precision diagram;
    ``slow`` settings run only in the full benchmark.
    """

    label: str
    values: Mapping[str, Any]
    table: bool = False
    slow: bool = False
    seeds: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Task:
    """One run to do: ``points`` (N, d) are those of the comparison with the exact solution, ``scratch`` is a
    folder for checkpoints of this run."""

    case: Case
    setting: Setting
    seed: int
    points: Array
    threads: int
    scratch: Path


@dataclass(frozen=True)
class Outcome:
    """Result of a run.

    ``values`` (N,) at the points of the task; ``seconds`` from the problem to a solution that can be
    evaluated, without imports and ``compile_seconds`` (once per form: JIT, code generation); ``facts`` are
    further measured values (unknowns, steps, iterations); ``note`` is a sentence for the report; ``capped``:
    the run was ended by its time limit.
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
    """Name on the command line and in file names: "pinn1"."""
    title: str
    """Title in the tables: "PINN #1"."""
    packages: Sequence[str]
    """Import names of required packages; their versions are recorded."""
    install: str
    """How to install them, one line."""
    fairness: str
    """What was tuned in favour of the system, and what was left as published."""

    def missing(self) -> str | None:
        """Return what is missing on this machine; None if the system can run."""

    def settings(self, case: Case) -> list[Setting]:
        """Return the configurations to run; raises `CannotError`.

        One of them has ``table``, or two if a capped one replaces one that takes hours.
        """

    def run(self, task: Task) -> Outcome:
        """Do one run."""


def absent(packages: Sequence[str]) -> str | None:
    """Return a message for the first package that is not installed, without importing any; else None."""
    from importlib.util import find_spec

    for name in packages:
        if find_spec(name) is None:
            return f"the package {name} is not installed"
    return None
