"""Summaries of the runs over seeds, and the tables of the report in Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import pibls
from benchmarks import paper_tables, peers
from benchmarks.store import Run

_INLINE = 32
"""Length above which a note becomes a footnote."""


@dataclass(frozen=True)
class Summary:
    """One setting of one system on one case: medians over finished seeds, and the largest error."""

    system: str
    case: str
    setting: str
    table: bool
    runs: tuple[Run, ...]

    @property
    def finished(self) -> tuple[Run, ...]:
        return tuple(r for r in self.runs if r["status"] in ("ok", "capped"))

    @property
    def unfinished(self) -> tuple[Run, ...]:
        return tuple(r for r in self.runs if r["status"] not in ("ok", "capped"))

    @property
    def capped(self) -> tuple[Run, ...]:
        return tuple(r for r in self.runs if r["status"] == "capped")

    @property
    def max_error(self) -> float:
        return _median(r["max_error"] for r in self.finished)

    @property
    def l2_error(self) -> float:
        return _median(r["l2_error"] for r in self.finished)

    @property
    def worst(self) -> float:
        return max((_number(r["max_error"]) for r in self.finished), default=math.inf)

    @property
    def has_grid(self) -> bool:
        """Whether all seeds have errors on the grid that includes the boundary."""
        return bool(self.finished) and all(r.get("grid_max_error") is not None for r in self.finished)

    @property
    def grid_max_error(self) -> float:
        return _median(r.get("grid_max_error") for r in self.finished)

    @property
    def grid_l2_error(self) -> float:
        return _median(r.get("grid_l2_error") for r in self.finished)

    @property
    def grid_worst(self) -> float:
        return max((_number(r.get("grid_max_error")) for r in self.finished), default=math.inf)

    @property
    def seconds(self) -> float:
        return _median(r["seconds"] for r in self.finished)

    @property
    def compile_seconds(self) -> float:
        return _median(r["compile_seconds"] or 0.0 for r in self.finished)


def _number(value: Any) -> float:
    """Return a measured value; ∞ for values that are not finite."""
    return float(value) if value is not None and math.isfinite(value) else math.inf


def _median(values: Iterable[Any]) -> float:
    numbers = sorted(_number(v) for v in values)
    return median(numbers) if numbers else math.inf


def summaries(runs: Iterable[Run]) -> list[Summary]:
    """Group the runs by system, case and setting, in the order of the tables; settings by time."""
    groups: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run["system"], run["case"], run["setting"]), []).append(run)
    found = [
        Summary(*key, any(r["table"] for r in group), tuple(sorted(group, key=lambda r: int(r["seed"]))))
        for key, group in groups.items()
    ]
    systems, cases = systems_in(found), [*pibls.cases]
    return sorted(found, key=lambda s: (systems.index(s.system), cases.index(s.case), s.seconds, s.setting))


def systems_in(found: Iterable[Summary | str]) -> list[str]:
    """Return the registered systems in their order, then others with results."""
    others = {s if isinstance(s, str) else s.system for s in found} - set(peers.MODULES)
    return [*peers.MODULES, *sorted(others)]


def in_table(found: Sequence[Summary], system: str, case: str) -> Summary | None:
    """Return the summary shown in a table cell; of several a finished, uncapped, newest one."""
    mine = [s for s in found if s.table and s.system == system and s.case == case]
    return max(
        mine,
        key=lambda s: (bool(s.finished), not s.capped, max(r["date"] for r in s.runs)),
        default=None,
    )


def without_grid(found: Sequence[Summary]) -> dict[str, list[str]]:
    """Return, by system, the cases of table cells without errors on the grid.

    An empty list stands for all cases.
    """
    missing: dict[str, list[str]] = {}
    for system in systems_in(found):
        cells = [c for c in (in_table(found, system, case) for case in pibls.cases) if c is not None]
        ended = [c for c in cells if c.finished]
        absent = [c.case for c in ended if not c.has_grid]
        if absent:
            missing[system] = absent if len(absent) < len(ended) else []
    return missing


def grid_gaps(found: Sequence[Summary], titles: dict[str, str]) -> str:
    """Return the list of systems (and cases) without a line "grid", as text."""
    systems = [
        escaped(titles.get(s, s)) + (f" ({', '.join(cases)})" if cases else "")
        for s, cases in without_grid(found).items()
    ]
    return ", ".join(systems) or "none"


def best(found: Sequence[Summary], case: str) -> tuple[float, float]:
    """Return the smallest median maximum and L2 error of a case in the table."""
    cells = [c for c in (in_table(found, s, case) for s in systems_in(found)) if c is not None]
    return min((c.max_error for c in cells), default=math.inf), min(
        (c.l2_error for c in cells), default=math.inf
    )


@dataclass
class Footnotes:
    """Footnotes, numbered in the order of first mention."""

    texts: list[str] = field(default_factory=list)

    def mark(self, text: str) -> str:
        if text not in self.texts:
            self.texts.append(text)
        return f"<sup>{self.texts.index(text) + 1}</sup>"

    def lines(self) -> list[str]:
        return [f"{i}. {escaped(text)}" for i, text in enumerate(self.texts, start=1)]


def escaped(text: str) -> str:
    """Escape characters with a meaning in Markdown, HTML, tables or GitHub formulas."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{c}" if c in "\\`*_[]|$~#" else c for c in plain)


def code(text: str) -> str:
    """Return a code span that is valid in a table."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}".replace("|", "\\|")


def error_text(value: float) -> str:
    return f"{value:.1e}" if math.isfinite(value) else "not finite"


def seconds_text(value: float) -> str:
    if not math.isfinite(value):
        return "?"
    if value >= 99.5:
        return f"{value:.0f}"
    return f"{value:.1e}" if 0 < value < 1e-4 else f"{float(f'{value:.2g}'):g}"


def counted(number: int, word: str) -> str:
    """Return "1 run", "2 runs"."""
    return f"{number} {word}" + ("" if number == 1 else "s")


def reach_of(run: Run) -> str:
    """Return how far a capped run came, as text."""
    counts = {k: v for k, v in run["facts"].items() if isinstance(v, int)}
    facts = {k: v for k, v in counts.items() if "step" in k or "iteration" in k}
    reached = next((facts[k] for k in ("step", "steps") if k in facts), None)
    if reached is not None:
        return f"at step {reached:,}"
    if facts:
        return "after " + ", ".join(f"{v:,} {k.replace('_', ' ')}" for k, v in facts.items())
    return f"at {seconds_text(_number(run['seconds']))} s"


def measured_text(cell: Summary, bold: tuple[float, float]) -> str:
    """Return max / L2 / seconds, the best of a case in bold."""
    errors = [
        f"**{error_text(value)}**" if value == least and math.isfinite(value) else error_text(value)
        for value, least in zip((cell.max_error, cell.l2_error), bold)
    ]
    return " / ".join([*errors, seconds_text(cell.seconds)])


def capped_text(cell: Summary) -> str:
    """Return where the time limit ended the runs."""
    return "capped " + ", ".join(dict.fromkeys(map(reach_of, cell.capped)))


def reason_text(run: Run, notes: Footnotes) -> str:
    """Return why a run has no result."""
    status = "not installed" if run["status"] == "missing" else str(run["status"])
    note = str(run["note"]).strip()
    if not note:
        return status
    return f"{status}: {escaped(note)}" if len(note) <= _INLINE else f"{status}{notes.mark(note)}"


def printed_text(system: str, case: str) -> str:
    """Return the numbers of the paper; a dagger marks an L2 error above the maximum error."""
    values = paper_tables.printed(system, case)
    if values is None:
        return ""
    largest, mean, seconds = values
    dagger = "†" if mean > largest else ""
    return f"*paper {largest:.2e} / {mean:.2e}{dagger} / {seconds:g}*"


def cell_text(found: Sequence[Summary], system: str, case: str, notes: Footnotes) -> str:
    """Return the text of a table cell."""
    cell = in_table(found, system, case)
    lines = []
    if cell is None:
        lines.append("not run")
    elif not cell.finished:
        lines.append(reason_text(cell.unfinished[-1], notes))
    else:
        texts = dict.fromkeys(r["note"].strip() for r in cell.finished if r["note"].strip())
        marks = "<sup>, </sup>".join(notes.mark(note) for note in texts)
        lines.append(measured_text(cell, best(found, case)) + marks)
        if len(cell.finished) > 1:
            lines.append(f"worst {error_text(cell.worst)} of {len(cell.finished)} seeds")
        if cell.has_grid:
            lines.append(f"grid {error_text(cell.grid_max_error)} / {error_text(cell.grid_l2_error)}")
        if cell.capped:
            lines.append(capped_text(cell))
        if cell.compile_seconds > 0:
            lines.append(f"compiling {seconds_text(cell.compile_seconds)} s")
        if cell.unfinished:
            reason = reason_text(cell.unfinished[-1], notes)
            lines.append(f"{counted(len(cell.unfinished), 'seed')} {reason}")
    lines.append(printed_text(system, case))
    return "<br />".join(line for line in lines if line)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def comparison(found: Sequence[Summary], cases: Sequence[str], titles: dict[str, str]) -> str:
    """Return the table of systems (rows) and cases (columns), with footnotes."""
    notes = Footnotes()
    header = ["system", *(f"{c}<br />{pibls.cases[c].title}" for c in cases)]
    rows = [
        [escaped(titles.get(system, system)), *(cell_text(found, system, case, notes) for case in cases)]
        for system in systems_in(found)
    ]
    return "\n".join([table(header, rows), "", *notes.lines()]).rstrip()


def settings_table(found: Sequence[Summary], system: str) -> str:
    """Return the table of all settings of a system."""
    rows = []
    for s in found:
        if s.system != system:
            continue
        seeds = ", ".join(str(r["seed"]) for r in s.runs)
        ended = sorted({r["status"] for r in s.runs})
        shown = s.setting and s is in_table(found, system, s.case)
        name = escaped(s.setting or "—") + (" (in the table)" if shown else "")
        rows.append([s.case, name, seeds, *_measured(s), ", ".join(ended), _choices(s)])
    header = ["case", "setting", "seeds", "max error", "worst", "L2 error", "seconds", "compiling"]
    return table([*header, "status", "chosen, said"], rows)


def _measured(s: Summary) -> list[str]:
    if not s.finished:
        return ["", "", "", "", ""]
    compiling = seconds_text(s.compile_seconds) if s.compile_seconds > 0 else ""
    errors = [error_text(e) for e in (s.max_error, s.worst, s.l2_error)]
    return [*errors, seconds_text(s.seconds), compiling]


def _choices(s: Summary) -> str:
    """Return the settings of the runs and their notes."""
    chosen = ", ".join(f"{k}={v}" for k, v in s.runs[-1]["settings"].items())
    notes = dict.fromkeys(escaped(r["note"]) for r in s.runs if r["note"].strip())
    return "; ".join([*([code(chosen)] if chosen else []), *notes])


def circumstances(found: Sequence[Summary], titles: dict[str, str]) -> str:
    """Return the table of versions, threads, machine and dates by system."""
    rows = []
    for system in systems_in(found):
        runs = [r for s in found if s.system == system for r in s.runs]
        if not runs:
            continue
        versions: dict[str, set[str]] = {}
        for run in runs:
            for package, version in run["versions"].items():
                versions.setdefault(package, set()).add(version)
        machines = sorted({f"{m['processor']}, {m['cores']} cores, {m['system']}" for m in _each(runs)})
        dates = sorted({r["date"][:10] for r in runs})
        rows.append(
            [
                escaped(titles.get(system, system)),
                code(system),
                str(len(runs)),
                escaped(", ".join(f"{p} {' and '.join(sorted(v))}" for p, v in versions.items())),
                ", ".join(sorted({str(r["threads"]) for r in runs})),
                escaped("; ".join(machines)),
                dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}",
            ]
        )
    return table(["system", "name", "runs", "versions", "threads", "machine", "dates"], rows)


def _each(runs: Iterable[Run]) -> list[dict[str, Any]]:
    return [r["machine"] for r in runs]
