"""docs/benchmarks/reading.md: discussion of the stored runs of the comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median

import pibls
from benchmarks import paper_tables, peers, rounding, tolerances
from benchmarks.pages.text import filled, names, plain, sci, span, template, with_cases, word
from benchmarks.report_tables import Summary, in_table, table

ALL = tuple(pibls.cases)
LINEAR = paper_tables.TABLE_2
LINE = ("TC-1", "TC-2", "TC-3")
CURVES = (*LINE, "TC-9", "TC-10")
PLANE = tuple(c for c in ALL if c not in CURVES)
_FACTOR_OF_TEN = 10.0
_LARGE_TOL, _DEFAULT_TOL = "tol=0.01", "tol=1e-10"
"""Names of settings of pibls in the stored runs."""


OTHER_MACHINE = {"TC-2": 12.0, "TC-3": 33.0}
"""Factors between two machines, reported by an audit (issue 26, item 2)."""


class Cells:
    """Cells of the tables: ``cells("pibls", "TC-5")``."""

    def __init__(self, found: Sequence[Summary]) -> None:
        self.found = found

    def __call__(self, system: str, case: str) -> Summary:
        cell = in_table(self.found, system, case)
        if cell is None or not cell.finished:
            raise KeyError(f"{system} has no result for {case}")
        return cell

    def has(self, system: str, case: str) -> bool:
        cell = in_table(self.found, system, case)
        return cell is not None and bool(cell.finished)

    def each(self, system: str, cases: Sequence[str], value: Callable[[Summary], float]) -> dict[str, float]:
        return {c: value(self(system, c)) for c in cases if self.has(system, c)}


def error(cell: Summary) -> float:
    return cell.max_error


def on_grid(cell: Summary) -> float:
    """Return the maximum error on a grid that includes the boundary, as in the paper."""
    return cell.grid_max_error if cell.has_grid else cell.max_error


def seconds(cell: Summary) -> float:
    return cell.seconds


def paper(row: str, case: str) -> paper_tables.Printed:
    return paper_tables.ROWS[row][case]


def quotient(above: Mapping[str, float], below: Mapping[str, float]) -> dict[str, float]:
    return {c: above[c] / below[c] for c in above if c in below}


def largest(values: Mapping[str, float]) -> str:
    return max(values, key=lambda c: values[c])


def digits(values: Mapping[str, float]) -> str:
    """Return the range of factors in powers of ten."""
    logs = [math.log10(v) for v in values.values()]
    return f"{min(logs):.1f} to {max(logs):.1f}"


def milliseconds(values: Mapping[str, float]) -> str:
    return span(1000 * v for v in values.values())


def fastest(cells: Cells, case: str) -> str:
    """Return the system with the shortest time, without compilation."""
    times = {s: cells(s, case).seconds for s in peers.MODULES if cells.has(s, case)}
    return min(times, key=lambda s: times[s])


def speed_table(cells: Cells) -> str:
    rows = []
    for case in ALL:
        published, mine = cells("pibls-published", case).seconds, cells("pibls", case).seconds
        row = [case, plain(published)]
        for system, printed in (("pinn1", "PINN #1"), ("pinn2", "PINN #2")):
            cell = cells(system, case)
            mark = "> " if cell.capped else ""
            said = paper(printed, case)[2] / paper("PIBLS", case)[2]
            row += [f"{mark}{plain(cell.seconds / published)}", plain(said)]
        rows.append([*row, plain(cells("pinn1", case).seconds / mine)])
    header = [
        "case",
        "PIBLS, s",
        "PINN #1 / PIBLS",
        "in the paper",
        "PINN #2 / PIBLS",
        "in the paper",
        "PINN #1 / pibls",
    ]
    return table(header, rows)


def grid_table(cells: Cells) -> str:
    """Return errors of PIBLS as published and of pibls at interior points, on the grid and in the paper."""
    rows = []
    for case in ALL:
        published, mine = cells("pibls-published", case), cells("pibls", case)
        row = [case, sci(paper("PIBLS", case)[0], 1)]
        for cell in (published, mine):
            grid = (
                (sci(cell.grid_max_error, 1), sci(cell.grid_worst, 1))
                if cell.has_grid
                else ("not run", "not run")
            )
            row += [sci(cell.max_error, 1), *grid]
        rows.append([*row, published.runs[0]["versions"]["pibls"]])
    header = ["case", "paper", "published, interior", "grid", "grid, worst seed", "`pibls`, interior", "grid",
              "grid, worst seed", "version"]  # fmt: skip
    return table(header, rows)


def _rounding() -> dict[str, str]:
    """Return the largest over the smallest error over the BLAS kernels, of one seed and of the median."""
    stored = rounding.read()
    each = {c: max(max(e) / min(e) for e in zip(*kernels.values())) for c, kernels in stored.items()}
    middle = {c: max(m) / min(m) for c, k in stored.items() for m in [[median(e) for e in k.values()]]}
    return {
        "kernels": word(max(len(k) for k in stored.values())),
        "tracker_median": plain(OTHER_MACHINE["TC-2"]),
        "tracker_seed": plain(OTHER_MACHINE["TC-3"]),
        "rounding_median": with_cases(dict(sorted(middle.items(), key=lambda i: -i[1])[:2])),
        "rounding_median_range": span(middle.values()),
        "rounding_seed": with_cases(dict(sorted(each.items(), key=lambda i: -i[1])[:2])),
        "rounding_seed_range": span(each.values()),
    }


def tolerance_table(cells: Cells) -> str:
    """Return the table of Algorithm 2 with our tolerances and with those of the authors' code."""
    rows = []
    for case, kinds in tolerances.read().items():
        pinn = cells("pinn1", case).seconds
        for kind, said in (("ours", "1e-15, ‖r‖² < 1e-10"), ("authors", "1e-8, ½‖r‖² < 1e-3")):
            runs = kinds[kind]
            t = median(r["seconds"] for r in runs)
            rows.append(
                [
                    case,
                    said,
                    plain(t),
                    plain(paper("PIBLS", case)[2]),
                    sci(median(r["grid_max_error"] for r in runs), 1),
                    sci(max(r["grid_max_error"] for r in runs), 1),
                    sci(paper("PIBLS", case)[0], 1),
                    plain(pinn / t),
                    "yes" if pinn / t >= _FACTOR_OF_TEN else "**no**",
                    f"{len(runs)}",
                ]
            )
    header = [
        "case",
        "tolerances",
        "seconds",
        "in the paper",
        "max error, grid",
        "worst seed",
        "in the paper",
        "PINN #1 / PIBLS",
        "ten times faster",
        "seeds",
    ]
    return table(header, rows)


def blanks(found: Sequence[Summary]) -> dict[str, str]:
    """Return all numbers and lists of cases of the template."""
    cells = Cells(found)
    return {
        **_published(cells),
        **_pinns(cells),
        **_ours(cells),
        **_speed(cells),
        **_baselines(cells),
        **_peers(cells),
    }


def _published(cells: Cells) -> dict[str, str]:
    theirs = {c: paper("PIBLS", c)[0] for c in ALL}
    medians = quotient(cells.each("pibls-published", ALL, on_grid), theirs)
    worst = quotient(
        cells.each("pibls-published", ALL, lambda s: s.grid_worst if s.has_grid else s.worst), theirs
    )
    inside = quotient(cells.each("pibls-published", ALL, error), theirs)
    rise = quotient(cells.each("pibls-published", ALL, on_grid), cells.each("pibls-published", ALL, error))
    return {
        "grid_table": grid_table(cells),
        "grid_rise": span(rise.values()),
        "grid_rise_cases": with_cases(dict(sorted(rise.items(), key=lambda item: -item[1])[:3])),
        "below_inside_only": names([c for c in ALL if inside[c] < 1 <= medians[c]]),
        **_rounding(),
        "seeds": word(min(len(cells("pibls-published", c).finished) for c in ALL)),
        "factor_median": plain(max(medians.values())),
        "factor_median_case": largest(medians),
        "factor_worst": plain(max(worst.values())),
        "factor_worst_case": largest(worst),
        "below_paper": with_cases({c: v for c, v in medians.items() if v < 1}),
        "cores": word(cells("pibls-published", "TC-1").runs[0]["machine"]["cores"]),
        **_gap(cells),
    }


def _gap(cells: Cells) -> dict[str, str]:
    """Return the orders of magnitude between the errors of PINN #1 and PIBLS, here and in the paper."""
    errors = quotient(cells.each("pinn1", ALL, error), cells.each("pibls-published", ALL, error))
    here = {c: math.log10(v) for c, v in errors.items()}
    said = {c: math.log10(paper("PINN #1", c)[0] / paper("PIBLS", c)[0]) for c in ALL}
    return {
        "gap": f"{min(here.values()):.1f} to {max(here.values()):.1f}",
        "gap_paper": f"{min(said.values()):.1f} to {max(said.values()):.1f}",
        "gap_as_wide": names([c for c in ALL if here[c] >= said[c]]),
        "gap_narrower": names([c for c in ALL if here[c] < said[c] - 1]),
    }


def _pinns(cells: Cells) -> dict[str, str]:
    most = [c for c in ALL if c != "TC-9"]
    whole = [c for c in ALL if cells.has("pinn2", c) and not cells("pinn2", c).capped]
    gains = quotient(cells.each("pinn1", whole, error), cells.each("pinn2", whole, error))
    both = {
        (s, c): cells(s, c).max_error / paper(p, c)[0]
        for s, p in (("pinn1", "PINN #1"), ("pinn2", "PINN #2"))
        for c in ALL
    }
    capped = {r["settings"]["cap_seconds"] for c in ALL for r in cells("pinn2", c).capped}
    gain = {c: math.log10(v) for c, v in gains.items()}
    return {
        "pinn1_errors": span(cells.each("pinn1", most, error).values(), "sci").replace(" to ", " and "),
        "pinn1_count": word(len(most)),
        "pinn1_seconds": span(cells.each("pinn1", most, seconds).values()),
        "pinn1_tc9": plain(cells("pinn1", "TC-9").max_error),
        "pinn2_full_cases": names(whole),
        "pinn2_gains": f"{min(gain.values()):.1f} to {max(gain.values()):.1f} orders of magnitude",
        "pinn2_minutes": span(cells("pinn2", c).seconds / 60 for c in whole),
        "pinn2_capped_better": _capped_better(cells, whole),
        "pinn_cells": f"{len(both)}",
        "pinn_better": f"{sum(v < 1 for v in both.values())}",
        "paper_tc11": names([plain(paper(p, "TC-11")[0]) for p in ("PINN #1", "PINN #2")]),
        "ours_tc11": names([sci(cells(s, "TC-11").max_error) for s in ("pinn1", "pinn2")]),
        "caps": span(capped) if capped else "no",
    }


def _capped_better(cells: Cells, whole: Sequence[str]) -> str:
    """Return the cases where a run with a time limit ended with a smaller error than the full one."""
    lower = {
        s.case: s.max_error
        for s in cells.found
        if s.system == "pinn2"
        and s.case in whole
        and s.capped
        and s.max_error < cells("pinn2", s.case).max_error
    }
    texts = [f"{sci(v)} on {c} (full run: {sci(cells('pinn2', c).max_error)})" for c, v in lower.items()]
    return f"runs with a time limit reached {names(texts)}" if texts else "but no shorter run was better"


def _ours(cells: Cells) -> dict[str, str]:
    errors = cells.each("pibls", ALL, error)
    gain = quotient(cells.each("pibls-published", ALL, seconds), cells.each("pibls", ALL, seconds))
    accuracy = quotient(cells.each("pibls-published", ALL, error), errors)
    better = {c: v for c, v in accuracy.items() if v >= _FACTOR_OF_TEN}
    high = dict(sorted(gain.items(), key=lambda item: -item[1])[:2])
    return {
        "pibls_errors": span(errors.values(), "sci"),
        "pibls_largest": f"{sci(max(errors.values()), 1)} on {largest(errors)}",
        "pibls_ms": milliseconds(cells.each("pibls", ALL, seconds)),
        "pibls_gain": span(gain.values()),
        "pibls_gain_high": with_cases(high),
        "pibls_least": word(round(_FACTOR_OF_TEN)),
        "pibls_digits_cases": names(list(better)),
        "pibls_digits": digits(better),
        "paper_below_pibls": names([c for c in ALL if paper("PIBLS", c)[0] < on_grid(cells("pibls", c))]),
        "pibls_date": max(r["date"] for c in ALL for r in cells("pibls", c).finished)[:10],
        **_large_tolerance(cells),
    }


def _large_tolerance(cells: Cells) -> dict[str, str]:
    """Return the time at the largest tolerance relative to that at the default one."""
    times = {(s.setting, s.case): s.seconds for s in cells.found if s.system == "pibls" and s.finished}
    share = [times[_LARGE_TOL, c] / times[_DEFAULT_TOL, c] for c in ALL]
    return {
        "loose": sci(float(_LARGE_TOL.partition("=")[2])),
        "tight": sci(float(_DEFAULT_TOL.partition("=")[2])),
        "loose_gain": span(share),
    }


def tolerance_speed(cells: Cells, kind: str) -> dict[str, float]:
    """Return the ratio of times PINN #1 / PIBLS with one set of tolerances."""
    stored = tolerances.read()
    return {c: cells("pinn1", c).seconds / median(r["seconds"] for r in k[kind]) for c, k in stored.items()}


def _speed(cells: Cells) -> dict[str, str]:
    published = cells.each("pibls-published", ALL, seconds)
    first = quotient(cells.each("pinn1", ALL, seconds), published)
    fails = {c: v for c, v in first.items() if v < _FACTOR_OF_TEN}
    printed = {c: paper("PINN #1", c)[2] / paper("PIBLS", c)[2] for c in ALL}
    strict, loose = tolerance_speed(cells, "ours"), tolerance_speed(cells, "authors")
    return {
        "tolerance_table": tolerance_table(cells),
        "tolerance_holds": names([c for c, v in loose.items() if v >= _FACTOR_OF_TEN > strict[c]]),
        "tolerance_fails": with_cases({c: v for c, v in loose.items() if v < _FACTOR_OF_TEN}),
        "tolerance_date": max(r["date"] for k in tolerances.read().values() for r in k["ours"])[:10],
        "speed_table": speed_table(cells),
        "speed_holds": f"{word(len(first) - len(fails))} cases "
        f"({span(v for v in first.values() if v >= _FACTOR_OF_TEN)} times)",
        "speed_fails_factors": with_cases(fails),
        "published_slow": names([plain(published[c]) for c in fails]),
        "speed_paper_low": plain(min(printed.values())),
        "speed_paper_low_case": min(printed, key=lambda c: printed[c]),
        "speed_pibls": span(
            quotient(cells.each("pinn1", ALL, seconds), cells.each("pibls", ALL, seconds)).values()
        ),
    }


def _baselines(cells: Cells) -> dict[str, str]:
    best = quotient(cells.each("pielm-best", LINEAR, error), cells.each("pibls-published", LINEAR, error))
    time = quotient(cells.each("pielm-best", LINEAR, seconds), cells.each("pibls-published", LINEAR, seconds))
    fem = [*cells.each("ngsolve", PLANE, error).values(), *cells.each("scikit-fem", PLANE, error).values()]
    ngsolve = cells.each("ngsolve", PLANE, seconds)
    bvp = cells.each("solve-bvp", CURVES, error)
    first = [c for c in PLANE if fastest(cells, c) == "ngsolve"]
    loc = {c: cells("locelm", c).max_error for c in paper_tables.TABLE_3}
    return {
        "pielm_best": span(best.values()),
        "pielm_time": span(time.values()),
        "fem_errors": span(fem, "sci"),
        "ngsolve_ms": milliseconds(ngsolve),
        "ngsolve_fastest": f"all {word(len(PLANE))} of them" if len(first) == len(PLANE) else names(first),
        "ngsolve_factor": span(quotient(cells.each("pibls", PLANE, seconds), ngsolve).values()),
        "bvp_errors": span(bvp.values(), "sci"),
        "bvp_count": word(len(bvp)),
        **{f"locelm_{c.lower().replace('-', '')}": sci(v) for c, v in loc.items()},
        **{f"locelm_paper_{c.lower().replace('-', '')}": sci(paper("locELM", c)[0]) for c in loc},
    }


def _peers(cells: Cells) -> dict[str, str]:
    mine = cells.each("pibls", ALL, seconds)
    tfc = quotient(cells.each("tfc", ALL, seconds), mine)
    pypielm = quotient(cells.each("pypielm", PLANE, seconds), mine)
    high = dict(sorted(pypielm.items(), key=lambda item: -item[1])[:2])
    behind = quotient(cells.each("pypielm", PLANE, error), cells.each("pibls", PLANE, error))
    pyrfm = quotient(cells.each("pyrfm", ALL, error), cells.each("pibls", ALL, error))
    titles = {"pypielm": "PyPIELM", "tfc": "TFC", "pibls": "`pibls`"}
    first = [fastest(cells, c) for c in LINE]
    return {
        "tfc_errors": span(cells.each("tfc", ALL, error).values(), "sci"),
        "tfc_faster": names([c for c in ALL if tfc[c] < 1]),
        "tfc_compile": span(cells.each("tfc", ALL, lambda s: s.compile_seconds).values()),
        "tfc_compile_least": plain(
            min(cells.each("tfc", ALL, lambda s: s.compile_seconds / s.seconds).values())
        ),
        "pypielm_1d": milliseconds(cells.each("pypielm", LINE, seconds)),
        "pibls_1d": milliseconds(cells.each("pibls", LINE, seconds)),
        "fastest_1d": names([f"{titles.get(s, s)} on {c}" for s, c in zip(first, LINE)]),
        "pypielm_2d": span(pypielm.values()),
        "pypielm_2d_high": with_cases(high),
        "pypielm_digits": digits(behind),
        "pyrfm_digits": digits(pyrfm),
        "pyrfm_limit": word(2),
        "pyrfm_near": names([c for c, v in pyrfm.items() if v < _FACTOR_OF_TEN**2]),
        "pyrfm_times": span(quotient(cells.each("pyrfm", ALL, seconds), mine).values()),
    }


def text(found: Sequence[Summary]) -> str:
    return filled(template("reading"), blanks(found))
