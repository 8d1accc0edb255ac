"""The comparison as a page: docs/benchmarks/report.md, report.html and figures, made from the stored runs.

    python -m benchmarks.report
    python -m benchmarks.report --results /tmp/results --out /tmp/report

Nothing is solved here: the numbers come from the JSON of benchmarks.run, the pictures of solutions from
the arrays of benchmarks.fields, the words in "Claims", "Reading" and "Scaling" from claims.md, reading.md and
scaling.md beside the report, which are made from stored data too (benchmarks.pages, benchmarks.scaling).
The same data give the
same files.
"""

from __future__ import annotations

import argparse
import html
from collections.abc import Iterable, Sequence
from pathlib import Path

import pibls
from benchmarks import fields, paper_tables, peers, report_figures, report_tables, store
from benchmarks.peers.adapter import Adapter
from benchmarks.report_page import page
from benchmarks.report_tables import Summary, code, escaped

OUT = store.RESULTS.parent
SPLIT = (("TC-1", "TC-2", "TC-3", "TC-4"), ("TC-5", "TC-6", "TC-7", "TC-8"), ("TC-9", "TC-10", "TC-11"))
"""Which cases share a table and a diagram: as in the paper."""
_CURVES = (("TC-1", "TC-2", "TC-3"), ("TC-9", "TC-10"))
_MAPS = (("TC-4", "TC-5", "TC-6"), ("TC-7", "TC-8"), ("TC-11",))
_SURFACES = (("TC-7", "TC-8", "TC-11"),)
"""Drawn as surfaces too, as in the paper."""

_CELLS = """\
In a cell: maximum error / L2 error / seconds. Errors are measured on the same random points inside for every
system, off the nodes of any mesh and not fitted by any; the L2 error is the root of the mean square. The line
"grid" has both on a regular grid that includes the boundary, as in the paper's code (71 × 71 in the plane):
there errors peak. Rows without it were run before the grid was measured, and were not repeated on this
machine ({ungridded}). Nodes of a mesh may lie on the grid, where low-order elements are much more accurate.
Seconds run from the problem to a solution that can be evaluated, after imports, with compilation shown
apart. Where there are several seeds the numbers are medians over them, and the worst maximum error stands
below. *In italics, what the paper printed* for that system, on its authors' machine ({machine}); its FEM
stands beside both orders, since it does not say which one it used; † marks an L2 error that was printed
larger than the maximum error. The best accuracy of a case is **bold**; at the level of rounding
differences mean nothing."""

_REPRODUCE = """\
Any cell of the tables, all its settings and seeds, for instance TC-5 by `pibls`:

```
python -m benchmarks.run --system pibls --case TC-5 --full --again
```

The names for `--system` are in the second column below, those for `--case` head the tables; one setting
alone is chosen with `--setting "…"`, its label as listed under "All runs". Without `--again` only what is
not there yet is run. What must be installed is said by the command itself where it is absent. The pictures
of the solutions: `python -m benchmarks.fields`; this page: `python -m benchmarks.pages`."""


def adapters(systems: Iterable[str]) -> dict[str, Adapter]:
    """Those that can be imported; they need no package of their system for their texts."""
    found = {}
    for name in systems:
        try:
            found[name] = peers.adapter(name)
        except (ImportError, AttributeError, KeyError):
            continue
    return found


def included(path: Path) -> str:
    """A hand-written file as part of a section: its title dropped, its headings one level down."""
    if not path.exists():
        return ""
    lines, fenced = [], False
    for line in path.read_text().splitlines():
        fenced ^= line.startswith("```")
        if not fenced and line.startswith("# "):
            continue
        lines.append(f"#{line}" if not fenced and line.startswith("##") else line)
    return "\n".join(lines).strip()


def tables_section(found: Sequence[Summary], titles: dict[str, str]) -> list[str]:
    said = _CELLS.format(machine=paper_tables.MACHINE, ungridded=report_tables.grid_gaps(found, titles))
    parts = ["## Linear cases (the paper's Table 2)", said]
    for cases in SPLIT:
        if cases == SPLIT[-1]:
            parts.append("## Nonlinear cases (the paper's Table 3)")
        else:
            parts.append(f"### {cases[0]} to {cases[-1]}")
        parts.append(report_tables.comparison(found, cases, titles))
    return parts


def diagrams_section(found: Sequence[Summary], titles: dict[str, str], out: Path) -> list[str]:
    parts = [
        "## Work and precision",
        "Maximum error against seconds: every setting of every system that ended, a marker at its medians "
        "over the seeds. Further down is more accurate, further left is quicker.",
    ]
    for cases in SPLIT:
        name = f"figures/work-precision-{cases[0]}-{cases[-1]}.png".lower()
        report_figures.work_precision(found, cases, titles, out / name)
        parts.append(f"![Error against seconds, {cases[0]} to {cases[-1]}]({name})")
    return parts


def fields_section(out: Path, folder: Path) -> list[str]:
    parts = [
        "## Solutions and errors",
        f"The paper's figures for all eleven cases: `solve(problem, tol={fields.TOLERANCE:g})` without any "
        f"setting against the exact solution, and the errors without and with the paper's settings (seed "
        f"{fields.SEED}), on a regular grid that includes the boundary.",
    ]
    drawn = 0
    kinds = (
        ("fields", _CURVES, report_figures.curves), ("fields", _MAPS, report_figures.maps),
        ("surfaces", _SURFACES, report_figures.surfaces),
    )  # fmt: skip
    for kind, groups, draw in kinds:
        for cases in groups:
            name = f"figures/{kind}-{'-'.join(dict.fromkeys((cases[0], cases[-1])))}.png".lower()
            if draw(cases, out / name, folder):
                drawn += 1
                what = "Solution surfaces" if kind == "surfaces" else "Solution and error"
                parts.append(f"![{what}, {', '.join(cases)}]({name})")
    return parts if drawn else [*parts, "Not made yet: `python -m benchmarks.fields`."]


def fairness_section(known: dict[str, Adapter], systems: Sequence[str]) -> list[str]:
    lines = []
    for name in systems:
        if name in known:
            one = known[name]
            lines.append(f"- **{escaped(one.title)}** ({code(name)}). {escaped(one.fairness)}")
        else:
            lines.append(f"- **{escaped(name)}**. Its adapter is not there.")
    return ["## Each baseline's fair try", "\n".join(lines)]


def runs_section(found: Sequence[Summary], titles: dict[str, str]) -> list[str]:
    parts = ["## All runs", "Per system: every setting that was run, what was chosen in it, and its command."]
    for system in report_tables.systems_in(found):
        mine = [s for s in found if s.system == system]
        if not mine:
            continue
        number = report_tables.counted(sum(len(s.runs) for s in mine), "run")
        commands = dict.fromkeys(r["command"] for s in mine for r in s.runs)
        parts += [
            f"<details>\n<summary>{html.escape(titles.get(system, system))}: {number}</summary>",
            report_tables.settings_table(mine, system),
            "```\n" + "\n".join(commands) + "\n```",
            "</details>",
        ]
    return parts


def written(runs: Sequence[store.Run], out: Path, folder: Path = fields.FIELDS) -> str:
    """The report in Markdown; its figures are drawn on the way."""
    found = report_tables.summaries(runs)
    systems = report_tables.systems_in(found)
    known = adapters(systems)
    titles = {name: one.title for name, one in known.items()}
    cells = len({(s.system, s.case) for s in found})
    scaling, claims = included(out / "scaling.md"), included(out / "claims.md")
    parts = [
        "# The paper's claims, its tables, and today's peers",
        *(
            ["## Claims", claims, "Every claim: [the paper, line by line](../paper.md). Details below."]
            if claims
            else []
        ),
        f"Made by `python -m benchmarks.report` from {report_tables.counted(len(runs), 'stored run')} that "
        f"fill {cells} of {len(systems) * len(list(pibls.cases))} cells.",
        "## Reading",
        included(out / "reading.md") or "Not written yet.",
        *tables_section(found, titles),
        *diagrams_section(found, titles, out),
        *fields_section(out, folder),
        *(["## Scaling", scaling] if scaling else []),
        "## How to reproduce a cell",
        _REPRODUCE,
        report_tables.circumstances(found, titles),
        *fairness_section(known, systems),
        *runs_section(found, titles),
    ]
    return "\n\n".join(parts) + "\n"


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=store.RESULTS)
    parser.add_argument("--fields", type=Path, default=fields.FIELDS)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args(words)
    arguments.out.mkdir(parents=True, exist_ok=True)
    markdown = written(store.read_all(arguments.results), arguments.out, arguments.fields)
    (arguments.out / "report.md").write_text(markdown)
    (arguments.out / "report.html").write_text(page(markdown))
    print(f"written: {arguments.out / 'report.md'}, {arguments.out / 'report.html'}")


if __name__ == "__main__":
    main()
