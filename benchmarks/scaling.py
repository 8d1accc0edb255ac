r"""Time, error and memory against size: up to 8,000 nodes, and up to 10⁶ points by streaming.

    python -m benchmarks.scaling            measure missing sizes; can be interrupted and resumed
    python -m benchmarks.scaling --again    repeat all measurements
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
_TEST_POINTS = 4000
_REPEAT_BELOW = 5.0  # seconds below which the median of three runs is taken

Run = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """One measurement; ``mode`` "held" or "streamed" is forced, "automatic" is the library's choice."""

    study: str
    nodes: int
    points: int
    mode: str = "automatic"
    threads: int = 1


def sizes() -> list[Size]:
    """Return all sizes, small ones first, those with two threads last."""
    wide = [Size("width", n, 5 * n // 2) for n in WIDTHS]
    pairs = [Size("width", n, 5 * n // 2, threads=2) for n in WIDTHS if n >= TWO_THREADS_FROM]
    held = [Size("points", NODES, n, "held") for n in POINTS if n <= _HELD_UP_TO]
    streamed = [Size("points", NODES, n, "streamed" if n <= _HELD_UP_TO else "automatic") for n in POINTS]
    nonlinear = [Size("nonlinear", 250, 100_000, mode) for mode in ("held", "streamed")]
    alone = sorted([*wide, *held, *streamed, *nonlinear], key=lambda s: s.nodes**2 * s.points)
    return [*alone, *pairs]


def oscillating() -> tuple[pibls.Problem, Callable[..., Array]]:
    """Return Δu = f on the unit square with u = sin(30(x² + y²)), which needs many nodes."""
    x, y = sp.symbols("x y")
    u, exact = sp.Function("u")(x, y), sp.sin(30 * (x**2 + y**2))
    problem = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(u.diff(x, 2) + u.diff(y, 2), exact.diff(x, 2) + exact.diff(y, 2))],
        [pibls.Dirichlet(u, exact)],
    )
    return problem, sp.lambdify((x, y), exact, modules="numpy")


def problem_of(study: str) -> tuple[pibls.Problem, Callable[..., Array]]:
    """Return the problem of a study and its exact solution."""
    if study == "width":
        return oscillating()
    case = pibls.cases["TC-5" if study == "points" else "TC-11"]
    return case.problem, case.exact


def solve_size(size: Size, problem: pibls.Problem) -> pibls.Solution:
    """Solve with ridge QR, the linear solver of the automatic mode."""
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
    """Measure one size: time (median of three if quick), error, and peak memory above that at the start."""
    if size.mode != "automatic":
        streaming.MAX_STORED_ENTRIES = 0 if size.mode == "streamed" else 1 << 60
    problem, exact = problem_of(size.study)
    solve_size(Size(size.study, 40, 200), problem)  # imports, compilation
    before, load = memory("VmRSS"), os.getloadavg()[0]
    seconds: list[float] = []
    cpu_seconds: list[float] = []
    while not seconds or (len(seconds) < 3 and sum(seconds) / len(seconds) < _REPEAT_BELOW):
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        solution = solve_size(size, problem)
        seconds.append(time.perf_counter() - wall_start)
        cpu_seconds.append(time.process_time() - cpu_start)
    peak = memory("VmHWM") - before
    X = problem.domain.interior(_TEST_POINTS, np.random.default_rng(20251115)).T
    error = float(np.abs(solution(*X) - exact(*X)).max())
    return {
        **asdict(size),
        "seconds": statistics.median(cpu_seconds if size.threads == 1 else seconds),
        "clock_seconds": statistics.median(seconds),
        "max_error": error,
        "peak_mb": peak,
        "matrix_mb": 8e-6 * size.nodes * size.points,
        "steps": solution.steps,
        "load": load,
        "machine": machine(),
    }


def memory(field: str) -> float:
    """Return VmRSS (current memory) or VmHWM (peak memory) of this process in MB (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024e-6 * next(float(line.split()[1]) for line in lines if line.startswith(field))


def key(run: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(run[name] for name in ("study", "nodes", "points", "mode", "threads"))


def stored(path: Path = DATA) -> list[Run]:
    found: list[Run] = json.loads(path.read_text()) if path.exists() else []
    return found


def add(run: Run, path: Path = DATA) -> None:
    """Store a run; the file is replaced atomically."""
    runs = sorted([r for r in stored(path) if key(r) != key(run)] + [run], key=key)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(runs, indent=1) + "\n")
    os.replace(temporary, path)


def in_own_process(size: Size) -> Run:
    """Measure one size in a new process."""
    command = [sys.executable, "-m", "benchmarks.scaling", "--measure", json.dumps(asdict(size))]
    done = subprocess.run(
        command, env=environment(size.threads), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    run: Run = json.loads(done.stdout)
    return run


def exponent(runs: Sequence[Run], by: str, of: str, least: float) -> float:
    """Return a of y ~ x^a, fitted over sizes of at least ``least``."""
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
_POINTS_HEADER = (
    "points n",
    "stored",
    "streamed",
    "max error",
    "memory, stored",
    "memory, streamed",
    "matrix",
)


def exponents(runs: Sequence[Run]) -> dict[str, float]:
    """Return all exponents of the page."""
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
    """Return the page, from the stored results."""
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
        (
            r["mode"].replace("held", "stored"),
            str(r["steps"]),
            _seconds(r),
            f"{r['max_error']:.1e}",
            _megabytes(r["peak_mb"]),
        )
        for r in both
    ]
    nonlinear = (
        ""
        if not both
        else f"""
Streaming also works for nonlinear problems, at a higher cost: the rows are computed again for every residual,
and a factored Jacobian cannot be reused. Burgers' equation (TC-11) with {both[0]["nodes"]} nodes and
{both[0]["points"]:,} points, streaming forced:

{table(("", "Jacobians", "time", "max error", "peak memory"), burgers)}
"""
    )
    facts = runs[0]["machine"]
    busy = max((r["load"] for r in two.values()), default=0.0)
    return f"""# Scaling

Time, error and peak memory of one `solve` with a given basis of random Fourier features, as functions of its
size. Generated by `python -m benchmarks.scaling` from [`scaling.json`](scaling.json), on {facts["cores"]}
cores of {facts["processor"]}. Each size runs in a separate process; times are medians of three runs if they
take less than {_REPEAT_BELOW:g} s each. With one BLAS thread they are processor times, because other jobs
were running. With two threads they are elapsed times, and the load average of the last minute was at most
{busy:.1f} at the start of a run. Peak memory is the increase after imports and a small solve.

![Time, error and memory against width and number of points](figures/scaling.png)

## Width

Δu = f on the unit square with u = sin(30(x² + y²)), which has five periods along an edge and ten along the
diagonal; 2.5 N interior points, R from the [scale-width rule](../scale.md), ridge QR. The matrix is stored;
streaming starts at {streaming.MAX_STORED_ENTRIES / 2**27:g} GiB.

{table(("nodes N", "points", "one thread", "two threads", "max error", "peak memory", "matrix"), width)}

Fitted from N = 1,000 on, **time ~ {power("N", "time of width")}** with one thread,
{power("N", "time of width, two threads")} with two (from 2,000 on), and
**memory ~ {power("N", "memory of width")}**. With points in proportion to the width,
QR takes 2·2.5·N³ operations and the matrix has 2.5 N² entries.

## Points

Poisson's equation (TC-5) with {NODES} nodes and up to 2,000 times as many points. "Streamed": the rows are
computed in blocks, and each block is factored together with the triangle of the rows before, so that only a
few vectors grow with the number of points. Streaming is automatic above
{streaming.MAX_STORED_ENTRIES / 2**27:g} GiB, as in the last row; in the others it was forced for comparison.

{table(_POINTS_HEADER, points)}

Fitted from n = 16,000 on, with a stored matrix time ~ {power("n", "time of points, held")} and memory
~ {power("n", "memory of points, held")}; **with streaming time ~ {power("n", "time of points, streamed")}
and memory ~ {power("n", "memory of points, streamed")}**.
{nonlinear}"""


def _seconds(run: Run | None) -> str:
    if run is None:
        return ""
    return f"{run['seconds']:.3g} s" if run["seconds"] < 100 else f"{run['seconds']:.0f} s"


def _megabytes(value: float) -> str:
    return f"{value:.0f} MB" if value < 1000 else f"{value / 1000:.1f} GB"


def draw(runs: Sequence[Run], path: Path) -> None:
    """Draw time, error and memory against width (above) and points (below)."""
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
