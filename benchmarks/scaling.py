r"""time ~ N^a, error and memory against size: width up to 8,000 nodes, points up to 10⁶ by streaming.

    python -m benchmarks.scaling            what is not measured yet; interrupt and resume at will
    python -m benchmarks.scaling --again    everything anew
    python -m benchmarks.scaling --one      without the runs with two threads, which need an idle machine
    python -m benchmarks.scaling --draw     only the page and the figure, from the stored numbers

Each size runs in a process of its own, with the threads pinned before anything is imported. Time with one
thread is processor time, which other work on the machine hardly changes; with two threads it is the
clock's. Numbers are in docs/benchmarks/scaling.json, the page in docs/benchmarks/scaling.md.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

import pibls
from benchmarks.measure import table
from benchmarks.run import ROOT, environment
from benchmarks.sensitivity import BLUE, GREEN, GREY, ORANGE, RED, paper_style
from benchmarks.worker import machine
from pibls.arrays import Array
from pibls.assembly import streaming
from pibls.basis.scale import scale_for

FOLDER = ROOT / "docs" / "benchmarks"
DATA, PAGE, FIGURE = FOLDER / "scaling.json", FOLDER / "scaling.md", FOLDER / "figures" / "scaling.png"

WIDTHS = (250, 500, 1000, 2000, 4000, 8000)
TWO_THREADS_FROM = 2000
NODES = 500
POINTS = (4_000, 16_000, 62_500, 250_000, 1_000_000)
_HELD_UP_TO = 250_000
_CHECK = 4000
_QUICK = 5.0  # seconds below which the median of three is taken

Run = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """What is run: ``mode`` is "held" or "streamed" where that is forced, else the library decides."""

    study: str
    nodes: int
    points: int
    mode: str = "automatic"
    threads: int = 1


def sizes() -> list[Size]:
    """All of them, the small ones first, those with two threads last."""
    wide = [Size("width", n, 5 * n // 2) for n in WIDTHS]
    pairs = [Size("width", n, 5 * n // 2, threads=2) for n in WIDTHS if n >= TWO_THREADS_FROM]
    held = [Size("points", NODES, n, "held") for n in POINTS if n <= _HELD_UP_TO]
    streamed = [Size("points", NODES, n, "streamed" if n <= _HELD_UP_TO else "automatic") for n in POINTS]
    nonlinear = [Size("nonlinear", 250, 100_000, mode) for mode in ("held", "streamed")]
    alone = sorted([*wide, *held, *streamed, *nonlinear], key=lambda s: s.nodes**2 * s.points)
    return [*alone, *pairs]


def oscillating() -> tuple[pibls.Problem, Callable[..., Array]]:
    """Δu = f on the unit square with u = sin(30(x² + y²)): no few nodes resolve it."""
    x, y = sp.symbols("x y")
    u, exact = sp.Function("u")(x, y), sp.sin(30 * (x**2 + y**2))
    problem = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(u.diff(x, 2) + u.diff(y, 2), exact.diff(x, 2) + exact.diff(y, 2))],
        [pibls.Dirichlet(u, exact)],
    )
    return problem, sp.lambdify((x, y), exact, modules="numpy")


def problem_of(study: str) -> tuple[pibls.Problem, Callable[..., Array]]:
    if study == "width":
        return oscillating()
    case = pibls.cases["TC-5" if study == "points" else "TC-11"]
    return case.problem, case.exact


def solved(size: Size, problem: pibls.Problem) -> pibls.Solution:
    """With ridge QR, the linear algebra of the automatic solver."""
    edge = int(1.5 * math.sqrt(2 * size.nodes)) if size.study == "width" else 1000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        return pibls.solve(
            problem,
            basis=pibls.Waves(size.nodes, scale_for("waves", size.nodes, 2)),
            points=pibls.Points(size.points, 4 * edge, edge, rule="sobol", boundary_rule="chebyshev"),
            method=pibls.GaussNewton(rounds=0, continuation=0),
        )


def measure(size: Size) -> Run:
    """One size: time (median of three where that is quick), error, peak memory above the start."""
    if size.mode != "automatic":
        streaming.MAX_STORED_ENTRIES = 0 if size.mode == "streamed" else 1 << 60
    problem, exact = problem_of(size.study)
    solved(Size(size.study, 40, 200), problem)  # imports, compilation
    before, load = memory("VmRSS"), os.getloadavg()[0]
    seconds: list[float] = []
    worked: list[float] = []
    while not seconds or (len(seconds) < 3 and sum(seconds) / len(seconds) < _QUICK):
        began, began_work = time.perf_counter(), time.process_time()
        solution = solved(size, problem)
        seconds.append(time.perf_counter() - began)
        worked.append(time.process_time() - began_work)
    peak = memory("VmHWM") - before
    X = problem.domain.interior(_CHECK, np.random.default_rng(20251115)).T
    error = float(np.abs(solution(*X) - exact(*X)).max())
    return {
        **asdict(size),
        "seconds": statistics.median(worked if size.threads == 1 else seconds),
        "clock_seconds": statistics.median(seconds),
        "max_error": error,
        "peak_mb": peak,
        "matrix_mb": 8e-6 * size.nodes * size.points,
        "steps": solution.steps,
        "load": load,
        "machine": machine(),
    }


def memory(field: str) -> float:
    """VmRSS, what this process holds now, or VmHWM, the most that it has held, in MB (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024e-6 * next(float(line.split()[1]) for line in lines if line.startswith(field))


def key(run: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(run[name] for name in ("study", "nodes", "points", "mode", "threads"))


def stored(path: Path = DATA) -> list[Run]:
    found: list[Run] = json.loads(path.read_text()) if path.exists() else []
    return found


def add(run: Run, path: Path = DATA) -> None:
    """Written beside the file and moved over it: an interruption leaves the old one or the new one."""
    runs = sorted([r for r in stored(path) if key(r) != key(run)] + [run], key=key)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".tmp")
    beside.write_text(json.dumps(runs, indent=1) + "\n")
    os.replace(beside, path)


def in_own_process(size: Size) -> Run:
    command = [sys.executable, "-m", "benchmarks.scaling", "--measure", json.dumps(asdict(size))]
    done = subprocess.run(
        command, env=environment(size.threads), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    run: Run = json.loads(done.stdout)
    return run


def exponent(runs: Sequence[Run], by: str, of: str, least: float) -> float:
    """a of y ~ x^a, over the sizes of at least ``least``."""
    pairs = [(r[by], r[of]) for r in runs if r[by] >= least]
    if len(pairs) < 2:
        return math.nan
    x, y = np.log(np.array(pairs, dtype=float)).T
    return float(np.polyfit(x, y, 1)[0])


def pick(
    runs: Iterable[Run], study: str, modes: Sequence[str] = ("automatic",), threads: int = 1
) -> list[Run]:
    chosen = [r for r in runs if r["study"] == study and r["mode"] in modes and r["threads"] == threads]
    return sorted(chosen, key=lambda r: (r["nodes"], r["points"]))


_STREAMED = ("streamed", "automatic")


def exponents(runs: Sequence[Run]) -> dict[str, float]:
    """Every exponent that the page quotes."""
    wide, two = pick(runs, "width"), pick(runs, "width", threads=2)
    held, streamed = pick(runs, "points", ("held",)), pick(runs, "points", _STREAMED)
    return {
        "time of width": exponent(wide, "nodes", "seconds", 1000),
        "time of width, two threads": exponent(two, "nodes", "seconds", 1000),
        "memory of width": exponent(wide, "nodes", "peak_mb", 1000),
        "time of points, held": exponent(held, "points", "seconds", 16_000),
        "memory of points, held": exponent(held, "points", "peak_mb", 16_000),
        "time of points, streamed": exponent(streamed, "points", "seconds", 16_000),
        "memory of points, streamed": exponent(streamed, "points", "peak_mb", 16_000),
    }


def page(runs: Sequence[Run]) -> str:
    """The page, from the stored numbers alone."""
    a = exponents(runs)

    def power(size: str, what: str) -> str:
        return f"{size}^{a[what]:.2f}" if math.isfinite(a[what]) else "(not measured yet)"

    two = {r["nodes"]: r for r in pick(runs, "width", threads=2)}
    width = [
        (f"{r['nodes']:,}", f"{r['points']:,}", _seconds(r), _seconds(two.get(r["nodes"])),
         f"{r['max_error']:.1e}", _megabytes(r["peak_mb"]), _megabytes(r["matrix_mb"]))
        for r in pick(runs, "width")
    ]  # fmt: skip
    held = {r["points"]: r for r in pick(runs, "points", ("held",))}
    points = [
        (f"{r['points']:,}", _seconds(held.get(r["points"])), _seconds(r),
         f"{r['max_error']:.1e}", _megabytes(held[r["points"]]["peak_mb"]) if r["points"] in held else "",
         _megabytes(r["peak_mb"]), _megabytes(r["matrix_mb"]))
        for r in pick(runs, "points", _STREAMED)
    ]  # fmt: skip
    both = [*pick(runs, "nonlinear", ("held",)), *pick(runs, "nonlinear", ("streamed",))]
    burgers = [
        (r["mode"], str(r["steps"]), _seconds(r), f"{r['max_error']:.1e}", _megabytes(r["peak_mb"]))
        for r in both
    ]
    nonlinear = (
        ""
        if not both
        else f"""
A nonlinear problem streams too, at a higher price: the rows are made again for every residual, and a
factored Jacobian cannot serve twice. Burgers' equation (TC-11), {both[0]["nodes"]} nodes,
{both[0]["points"]:,} points, forced again:

{table(("", "Jacobians", "time", "max error", "peak memory"), burgers)}
"""
    )
    facts = runs[0]["machine"]
    busy = max((r["load"] for r in two.values()), default=0.0)
    return f"""# Scaling

Time, error and peak memory of one `solve` with a fixed basis of waves, against its size. Made by
`python -m benchmarks.scaling` (it resumes where it was interrupted) from
[`scaling.json`](scaling.json), on {facts["cores"]} cores of {facts["processor"]}. Each size has a process of
its own; time is the median of three where that takes less than {_QUICK:g} s each. With one BLAS thread it is
processor time, because other work was running; with two it is the clock's, and the load average
of the last minute was at most {busy:.1f} when a run began. Peak memory is above what the process held after
its imports and a small solve.

![Time, error and memory against width and number of points](figures/scaling.png)

## Width

Δu = f on the unit square, u = sin(30(x² + y²)): five periods along an edge, ten along the diagonal. 2.5 N
points inside, R from the [scale-width rule](../scale.md), ridge QR. The matrix is held: the library would
begin to stream it at {streaming.MAX_STORED_ENTRIES / 2**27:g} GiB.

{table(("nodes N", "points", "one thread", "two threads", "max error", "peak memory", "matrix"), width)}

Fitted from N = 1,000 on: **time ~ {power("N", "time of width")}** with one thread,
{power("N", "time of width, two threads")} with two (from 2,000 on);
**memory ~ {power("N", "memory of width")}**. With points in proportion to the width,
QR costs 2·2.5·N³ operations and the matrix 2.5 N² numbers.

## Points

Poisson's equation (TC-5) with {NODES} nodes and more and more points, up to 2,000 times the nodes.
"Streamed": the rows are made in blocks, each stacked under the triangle of the rows before and factored
with it, so that nothing grows with the points but a few vectors. This happens by itself above
{streaming.MAX_STORED_ENTRIES / 2**27:g} GiB, as in the last row; in the others it was forced, for comparison.

{table(("points n", "held", "streamed", "max error", "memory, held", "memory, streamed", "matrix"), points)}

Fitted from n = 16,000 on: held, time ~ {power("n", "time of points, held")} and memory
~ {power("n", "memory of points, held")}; **streamed, time ~ {power("n", "time of points, streamed")}
and memory ~ {power("n", "memory of points, streamed")}**.
{nonlinear}"""


def _seconds(run: Run | None) -> str:
    if run is None:
        return ""
    return f"{run['seconds']:.3g} s" if run["seconds"] < 100 else f"{run['seconds']:.0f} s"


def _megabytes(value: float) -> str:
    return f"{value:.0f} MB" if value < 1000 else f"{value / 1000:.1f} GB"


def draw(runs: Sequence[Run], path: Path) -> None:
    """Three panels for the width, two for the points."""
    plt = paper_style()
    figure, axes = plt.subplots(2, 3, figsize=(10.4, 6.2), layout="constrained")
    wide, two = pick(runs, "width"), pick(runs, "width", threads=2)
    held, streamed = pick(runs, "points", ("held",)), pick(runs, "points", _STREAMED)
    a = exponents(runs)

    def line(
        ax: Any, rows: Sequence[Run], by: str, of: str, colour: str, label: str, style: str = "o-"
    ) -> None:
        if rows:
            ax.plot([r[by] for r in rows], [r[of] for r in rows], style, color=colour, label=label)

    top, bottom = axes
    line(top[0], wide, "nodes", "seconds", BLUE, f"one thread: $N^{{{a['time of width']:.2f}}}$")
    line(top[0], two, "nodes", "seconds", ORANGE,
         f"two threads: $N^{{{a['time of width, two threads']:.2f}}}$")  # fmt: skip
    line(top[1], wide, "nodes", "max_error", RED, "")
    line(top[2], wide, "nodes", "peak_mb", GREEN, f"peak: $N^{{{a['memory of width']:.2f}}}$")
    line(top[2], wide, "nodes", "matrix_mb", GREY, "the matrix", ":")
    for of, ax, what in (("seconds", bottom[0], "time"), ("peak_mb", bottom[2], "memory")):
        for rows, mode, colour in ((held, "held", BLUE), (streamed, "streamed", GREEN)):
            line(ax, rows, "points", of, colour, f"{mode}: $n^{{{a[f'{what} of points, {mode}']:.2f}}}$")
    line(bottom[1], held, "points", "max_error", BLUE, "held")
    line(bottom[1], streamed, "points", "max_error", GREEN, "streamed")
    line(bottom[2], streamed, "points", "matrix_mb", GREY, "the matrix", ":")
    for row, xlabel, where in (
        (top, "width $N$ (nodes)", "2.5 $N$ points"),
        (bottom, "points $n$", "500 nodes"),
    ):
        for ax, what in zip(row, ("seconds", "maximum error", "peak memory (MB)"), strict=True):
            ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=what)
            ax.set_title(where, loc="left")
            if any(ax.get_legend_handles_labels()[1]):
                ax.legend()
    for ax in top:
        ax.set_xticks(WIDTHS, [f"{n:,}" for n in WIDTHS])
        ax.xaxis.set_minor_locator(plt.NullLocator())
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)


def main(words: Sequence[str]) -> None:
    if "--measure" in words:
        print(json.dumps(measure(Size(**json.loads(words[words.index("--measure") + 1])))))
        return
    if "--draw" not in words:
        done = set() if "--again" in words else {key(r) for r in stored()}
        for size in sizes():
            if key(asdict(size)) not in done and (size.threads == 1 or "--one" not in words):
                run = in_own_process(size)
                add(run)
                numbers = f"{run['seconds']:.3g} s, error {run['max_error']:.1e}, {run['peak_mb']:.0f} MB"
                print(f"{size}: {numbers}", flush=True)
    wanted = {key(asdict(size)) for size in sizes()}
    runs = [r for r in stored() if key(r) in wanted]
    draw(runs, FIGURE)
    PAGE.write_text(page(runs))
    print(f"written: {PAGE.relative_to(ROOT)}, {FIGURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:])
