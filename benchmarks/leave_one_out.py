"""Leave-one-out measurements: which problems of the lists need each mechanism of the solver.

    python -m benchmarks.leave_one_out baseline FILE [--list NAME …] [--at-most SECONDS]
    python -m benchmarks.leave_one_out run FILE OUT.json [--only NAME …] [--budget SECONDS] [--thresholds]
    python -m benchmarks.leave_one_out table OUT.json      the table of docs/method.md
    python -m benchmarks.leave_one_out check               mechanisms whose function no longer exists

`baseline` solves every problem once and stores its values at fixed points, estimate, status and processor
time, with the mechanisms that have an effect and the threshold fields that are read. `run` replaces one
mechanism at a time by nothing, solves those problems again, cheapest first, and stops a mechanism after
``--budget`` seconds of processor time. A problem needs a mechanism if without it the status is another, the
solution differs by more than both estimates, or the process exceeds ten times its processor time (and five
seconds).
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import json
import os
import pickle
import pkgutil
import resource
import signal
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from validation.registry import DEFAULT, SETS, entries, of_set

POINTS = 200
"""Points at which solutions are compared."""
MAX_SLOWDOWN = 10.0
"""Ratio of processor times above which a problem counts as lost, and …"""
GRACE_SECONDS = 5.0
"""… seconds that are allowed in any case."""
SLOWER = 1.5
"""Ratio of processor times above which a problem is named as slower."""
MAX_BASELINE_SECONDS = 120.0


@dataclass(frozen=True)
class Mechanism:
    """A function or property, and what replaces it when the mechanism is left out."""

    name: str
    target: str
    """Module and qualified name, separated by a colon."""
    replacement: Callable[..., Any]
    """The function that replaces it; of a property its getter."""


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _false(*_: Any, **__: Any) -> bool:
    return False


def _empty(*_: Any, **__: Any) -> tuple[()]:
    return ()


def _empty_list(*_: Any, **__: Any) -> list[Any]:
    return []


def _zero(*_: Any, **__: Any) -> float:
    return 0.0


def _first(first: Any, *_: Any, **__: Any) -> Any:
    return first


def _second(_: Any, second: Any, *__: Any, **___: Any) -> Any:
    return second


def _no_magnitudes(equations: Any, *_: Any, **__: Any) -> Any:
    return np.zeros(equations.unknowns)


def _no_waves(context: Any) -> Any:
    return np.zeros(len(context.box))


def _no_layer_rates(context: Any) -> Any:
    from pibls.adaptive.decay_rates import BoundaryLayerRates

    return BoundaryLayerRates(np.empty((0, context.compiled.dimension)), np.empty(0))


def _no_holes(*_: Any) -> Any:
    from pibls.analysis.holes.enrichment import HoleEnrichment

    return HoleEnrichment()


def _unknown_conditioning(*_: Any, **__: Any) -> Any:
    from pibls.adaptive.validation.conditioning import UNKNOWN_CONDITIONING

    return UNKNOWN_CONDITIONING


def _no_condition_errors(context: Any, _: Any) -> Any:
    return np.zeros(context.compiled.unknowns)


def _frozenset(*_: Any, **__: Any) -> frozenset[int]:
    return frozenset()


def _no_remainder(part: Any, w: Any, box: Any, unknowns: int, S: Any) -> Any:
    return np.zeros(unknowns)


def _all_coordinates(compiled: Any, *_: Any) -> Any:
    return (tuple(range(compiled.dimension)),)


ADAPTIVE, ANALYSIS, TIME = "pibls.adaptive", "pibls.analysis", "pibls.time"
MECHANISMS = (
    # -- analysis --
    Mechanism(
        "splitting piecewise conditions", f"{ANALYSIS}.split_conditions:split_piecewise_conditions", _first
    ),
    Mechanism("redundant initial conditions", f"{ANALYSIS}.evolution:redundant_initial_conditions", _empty),
    Mechanism("conditions at outflow", f"{ANALYSIS}.well_posedness:outflow_conditions", _empty),
    Mechanism(
        "redundant boundary conditions, by count",
        f"{ANALYSIS}.boundary_condition_count:redundant_boundary_conditions",
        _empty,
    ),
    Mechanism(
        "redundant conditions, by factorization",
        f"{ANALYSIS}.redundant_conditions:redundant_conditions",
        _empty,
    ),
    Mechanism("growth of short waves", f"{ANALYSIS}.well_posedness:short_wave_growth", _nothing),
    Mechanism(
        "missing inflow conditions", f"{ANALYSIS}.well_posedness:has_missing_inflow_conditions", _false
    ),
    Mechanism(
        "missing boundary conditions, by count",
        f"{ANALYSIS}.boundary_condition_count:has_missing_boundary_conditions",
        _false,
    ),
    Mechanism(
        "missing boundary conditions, elliptic",
        f"{ANALYSIS}.missing_conditions:lacks_boundary_condition",
        _false,
    ),
    Mechanism("flux balance", f"{ANALYSIS}.flux_balance:flux_imbalance", _nothing),
    Mechanism(
        "singular functions of scalar corners", f"{ANALYSIS}.corners.scalar_corners:corners_of", _empty
    ),
    Mechanism(
        "singular functions of system corners",
        f"{ANALYSIS}.corners.system_corners:relevant_system_corners",
        _empty,
    ),
    Mechanism("singular functions of junctions", f"{ANALYSIS}.corners.junctions:junctions_of", _empty),
    Mechanism("singular functions of end points", f"{ANALYSIS}.frobenius:singular_ends", _empty),
    Mechanism("functions around holes", f"{ANALYSIS}.holes.enrichment:holes_of", _no_holes),
    Mechanism("mirror images of holes", f"{ANALYSIS}.holes.mirror_images:mirror_images", _empty),
    Mechanism("functions of boundary layers", f"{ANALYSIS}.boundary_layers:find_boundary_layers", _nothing),
    Mechanism("homogeneous waves", f"{ANALYSIS}.homogeneous_waves:max_wavenumber", _zero),
    Mechanism(
        "characteristics as interfaces",
        "pibls.problem.interfaces.decomposition:_characteristic_decomposition",
        _nothing,
    ),
    Mechanism("nonsmooth time stepping", f"{TIME}.box.nonsmooth:has_undamped_short_waves", _false),
    # -- random features --
    Mechanism("even and odd halves", "pibls.assembly.even_odd:inversion_of", _nothing),
    Mechanism(
        "features of few coordinates",
        f"{ADAPTIVE}.random_features.variable_coupling:coupled_coordinates",
        _all_coordinates,
    ),
    Mechanism(
        "anisotropy of random features",
        f"{ADAPTIVE}.random_features.strategy:RandomFeatureStrategy._select_anisotropy",
        _second,
    ),
    Mechanism("harmonic initial guess", f"{ADAPTIVE}.initial_guess.guess_sequence:harmonic_lift", _nothing),
    # -- grids --
    Mechanism("layers in the first grid", f"{ADAPTIVE}.decay_rates:layer_planes", _empty),
    Mechanism("turning points in the first grid", f"{ADAPTIVE}.decay_rates:_turning_points", _empty_list),
    Mechanism("waves in the first grid", f"{ADAPTIVE}.decay_rates:wavelengths_across", _no_waves),
    Mechanism(
        "layers at curved boundaries in the first grid",
        f"{ADAPTIVE}.decay_rates:boundary_layer_rates",
        _no_layer_rates,
    ),
    Mechanism(
        "spectral tail of clipped cells", "pibls.spaces.spectral_tail:high_degree_remainder", _no_remainder
    ),
    Mechanism(
        "coarsening of intervals in time stepping",
        f"{TIME}.box.refinement:Refinement.coarsen_intervals",
        _second,
    ),
    Mechanism(
        "merging of cells in time stepping",
        f"{TIME}.box.refinement:Refinement.merge_cells",
        _second,
    ),
    Mechanism(
        "grading towards layers in time stepping",
        f"{TIME}.box.refinement:Refinement.refine_layers",
        _second,
    ),
    # -- linear solvers of evolutions and tensor products --
    Mechanism(
        "Fourier inverse of evolutions",
        f"{TIME}.box.solver:CollocationSolver._fourier_factors",
        _nothing,
    ),
    Mechanism(
        "separable inverse of evolutions",
        f"{TIME}.box.solver:CollocationSolver._separable_factors",
        _nothing,
    ),
    Mechanism(
        "separable preconditioner of tensor products",
        "pibls.assembly.tensor_products.separable:SeparableFactorization.of",
        _nothing,
    ),
    # -- validation --
    Mechanism("narrow extremes of the data", f"{ADAPTIVE}.validation.data_scan:narrow_extremes", _empty_list),
    Mechanism(
        "stability constant", f"{ADAPTIVE}.validation.conditioning:conditioning_at", _unknown_conditioning
    ),
    Mechanism(
        "share of the data left unexplained", f"{ADAPTIVE}.validation.conditioning:unexplained_share", _zero
    ),
    Mechanism(
        "errors of conditions in the estimate", f"{ADAPTIVE}.candidate:condition_errors", _no_condition_errors
    ),
    Mechanism("undriven unknowns", f"{ADAPTIVE}.validation.scales:undriven_unknowns", _frozenset),
    Mechanism("balanced magnitudes", f"{ADAPTIVE}.validation.scales:balanced_magnitudes", _no_magnitudes),
    Mechanism("uniqueness at a singular start", f"{TIME}.ode.singular_start:has_free_solutions", _false),
)


def import_all() -> None:
    """Import all modules of the package, so that no later import hides an original function."""
    import pibls

    for module in pkgutil.walk_packages(pibls.__path__, "pibls."):
        if not module.name.startswith(("pibls.notebook", "pibls.live", "pibls.plot", "pibls.cli")):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)


def _located(target: str) -> tuple[Any, str, Any]:
    """Return the object that holds a target, its attribute name and the original."""
    module, name = target.split(":")
    holder: Any = importlib.import_module(module)
    *outer, last = name.split(".")
    for part in outer:
        holder = vars(holder)[part]
    return holder, last, vars(holder)[last]


def substitute(target: str, replacement: Callable[..., Any]) -> None:
    """Replace a function or property in its class, or in every module that has imported it."""
    holder, name, original = _located(target)
    if isinstance(holder, type):
        is_function = isinstance(original, types.FunctionType)
        setattr(holder, name, replacement if is_function else _rewrapped(original, replacement))
        return
    _replace_everywhere(original, replacement)


def _replace_everywhere(original: Any, replacement: Any) -> None:
    """Replace an object in all modules that have imported it."""
    for module in [m for key, m in sys.modules.items() if key.startswith("pibls")]:
        for key, value in list(vars(module).items()):
            if value is original:
                setattr(module, key, replacement)


def _without_row(name: str) -> None:
    """Remove a strategy from the table."""
    from pibls.adaptive.strategies import TABLE

    _replace_everywhere(TABLE, tuple(row for row in TABLE if row.name != name))


def _record_rows(reached: set[str]) -> None:
    """Record the rows of the strategy table of which a strategy is built."""
    from pibls.adaptive.strategies import TABLE

    def recorded(row: Any, setup: Any) -> Any:
        strategy = row.build(setup)
        if strategy is not None:
            reached.add(f"strategy: {row.name}")
        return strategy

    _replace_everywhere(TABLE, tuple(replace(row, build=functools.partial(recorded, row)) for row in TABLE))


def _rewrapped(original: Any, replacement: Callable[..., Any]) -> Any:
    if isinstance(original, classmethod | staticmethod):
        return type(original)(replacement)
    return property(replacement)


def _underlying(original: Any) -> Callable[..., Any]:
    """Return the plain function of a function, class method or property."""
    if isinstance(original, classmethod | staticmethod):
        return original.__func__
    if isinstance(original, property):
        assert original.fget is not None
        return original.fget
    function: Callable[..., Any] = vars(original).get("function", original)
    return function


def _is_same(found: Any, replaced: Any) -> bool:
    """Whether a mechanism returned what its replacement returns."""
    with contextlib.suppress(Exception):
        if found is replaced or (not found and not replaced):
            return True
    try:
        return bool(np.array_equal(found, replaced))
    except Exception:  # objects without a comparison
        return False


def record_reached(reached: set[str]) -> None:
    """Record the threshold fields that are read, and the mechanisms whose result is not the replacement."""
    for mechanism in MECHANISMS:
        try:
            original = _underlying(_located(mechanism.target)[2])
        except (KeyError, ImportError):
            continue

        def recorded(*a: Any, _f: Callable[..., Any] = original, _m: Mechanism = mechanism, **k: Any) -> Any:
            found = _f(*a, **k)
            if _m.name not in reached and not _is_same(found, _m.replacement(*a, **k)):
                reached.add(_m.name)
            return found

        substitute(mechanism.target, functools.wraps(original)(recorded))
    _record_rows(reached)
    for kind in {type(t) for t in threshold_groups().values()}:
        names = {f.name for f in fields(kind)}

        setattr(kind, "__getattribute__", _recording_reader(names, kind.__name__, reached))  # noqa: B010


def _recording_reader(names: set[str], kind: str, reached: set[str]) -> Callable[[Any, str], Any]:
    def read(self: Any, key: str) -> Any:
        if key in names:
            reached.add(f"{kind}.{key}")
        return object.__getattribute__(self, key)

    return read


def threshold_groups() -> dict[str, Any]:
    """Return the instances of threshold classes by their class name."""
    out = {}
    for name in ("pibls.adaptive.thresholds", "pibls.analysis.thresholds", "pibls.time.thresholds"):
        for value in vars(importlib.import_module(name)).values():
            if is_dataclass(value) and not isinstance(value, type):
                out[type(value).__name__] = value
    return out


def threshold_trials() -> dict[str, Callable[[], None]]:
    """Return, for each threshold field, a function that makes it inactive.

    A maximum becomes infinite (an integer ten times as large), a minimum zero (an integer one), a factor one;
    other floats are quadrupled, and other integers doubled.
    """

    def inactive(field_name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {k: inactive(field_name, v) for k, v in value.items()}
        if isinstance(value, tuple):
            return tuple(inactive(field_name, v) for v in value)
        if not isinstance(value, int | float):
            return value
        whole = isinstance(value, int)
        if field_name.startswith("max_"):
            return 10 * value if whole else np.inf
        if field_name.startswith("min_"):
            return 1 if whole else 0.0
        if field_name.endswith("factor"):
            return type(value)(1)
        return 2 * value if whole else 4.0 * value

    def trial(group: Any, field_name: str) -> Callable[[], None]:
        value = inactive(field_name, vars(group)[field_name])
        return lambda: object.__setattr__(group, field_name, value)

    return {
        f"{name}.{f.name}": trial(group, f.name)
        for name, group in threshold_groups().items()
        for f in fields(group)
    }


def solve(of_list: str, name: str) -> dict[str, Any]:
    """Solve one problem in this process."""
    import pibls

    (entry,) = entries([of_list], [name])
    problem = entry.build()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        solution = pibls.solve(problem, tol=entry.tol, seed=0, **entry.settings)
        seconds = time.process_time() - start
    X = np.asarray(problem.domain.interior(POINTS, np.random.default_rng(0)), dtype=float)
    return {
        "status": solution.status.name,
        "converged": bool(solution.converged),
        "estimates": [float(solution[u].error.max) for u in problem.unknowns],
        "values": [np.asarray(solution[u](*X.T), dtype=complex) for u in problem.unknowns],
        "seconds": seconds,
    }


def in_child(task: Callable[[], dict[str, Any]], seconds: float) -> dict[str, Any]:
    """Run a task in a forked process with a limit of processor time, and return its result."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 3))
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        try:
            found = task()
        except Exception as reason:  # the result of a mechanism that is not optional
            found = {"status": "CRASHED", "why": f"{type(reason).__name__}: {reason}"[:200]}
        with os.fdopen(write, "wb") as stream:
            pickle.dump(found, stream)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        content = stream.read()
    os.waitpid(child, 0)
    out: dict[str, Any] = pickle.loads(content) if content else {"status": "KILLED", "seconds": seconds}
    return out


def baseline(out: Path, lists: Iterable[str], at_most: float) -> None:
    """Store the solutions of all problems with what they reach."""
    import_all()
    rows: dict[str, Any] = pickle.loads(out.read_bytes()) if out.exists() else {}
    for of_list in lists:
        for name in (entry.name for entry in of_set(of_list)):

            def task(of_list: str = of_list, name: str = name) -> dict[str, Any]:
                reached: set[str] = set()
                record_reached(reached)
                return {"reached": reached, **solve(of_list, name)}

            key = f"{of_list}: {name}"
            if key not in rows:
                rows[key] = in_child(task, at_most)
                out.write_bytes(pickle.dumps(rows))


def verdict(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Return what changes if a mechanism is left out: "lost …", "slower", "faster", "changed" or "same"."""
    if after["status"] != before["status"]:
        return f"lost: {after['status']}"
    if before["converged"]:
        for u, v, a, b in zip(
            before["values"], after["values"], before["estimates"], after["estimates"], strict=True
        ):
            if not np.nanmax(np.abs(u - v)) <= a + b:
                return "lost: estimate too small"
    ratio = after["seconds"] / max(before["seconds"], 1e-9)
    if abs(after["seconds"] - before["seconds"]) > 0.05:
        if ratio > SLOWER:
            return f"slower: {ratio:.1f}"
        if ratio < 1 / SLOWER:
            return f"faster: {1 / ratio:.1f}"
    same = all(
        np.array_equal(u, v, equal_nan=True) for u, v in zip(before["values"], after["values"], strict=True)
    )
    return "same" if same else "changed"


def measure(rows: dict[str, Any], name: str, leave_out: Callable[[], None], budget: float) -> dict[str, str]:
    """Return the verdict of every problem that reaches a mechanism, cheapest first."""
    reaching = sorted(
        (key for key, row in rows.items() if name in row.get("reached", ())), key=lambda k: rows[k]["seconds"]
    )
    out, spent = dict[str, str](), 0.0
    for key in reaching:
        if spent > budget:
            out[key] = "not run"
            continue
        before = rows[key]
        limit = max(MAX_SLOWDOWN * before["seconds"], GRACE_SECONDS)

        def task(key: str = key) -> dict[str, Any]:
            leave_out()
            return solve(*key.split(": ", 1))

        after = in_child(task, limit)
        spent += after.get("seconds", limit)
        out[key] = verdict(before, after)
    return out


def trials(with_thresholds: bool) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the names of mechanisms, or of threshold fields, with the functions that leave them out."""
    if with_thresholds:
        yield from threshold_trials().items()
        return
    from pibls.adaptive.strategies import TABLE

    for row in TABLE:
        yield f"strategy: {row.name}", functools.partial(_without_row, row.name)
    for mechanism in MECHANISMS:
        yield mechanism.name, functools.partial(substitute, mechanism.target, mechanism.replacement)


def run(source: Path, out: Path, only: list[str], budget: float, with_thresholds: bool) -> None:
    """Measure all mechanisms that are not stored yet."""
    import_all()
    rows = pickle.loads(source.read_bytes())
    stored: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {}
    for name, leave_out in trials(with_thresholds):
        if name in stored or (only and not any(o in name for o in only)):
            continue
        stored[name] = measure(rows, name, leave_out, budget)
        out.write_text(json.dumps(stored, indent=1) + "\n")


def table(out: Path) -> None:
    """Print a Markdown table of the measurements."""
    print("| without | acts on | lost | slower | problems that need it |")
    print("| --- | --- | --- | --- | --- |")
    for name, rows in json.loads(out.read_text()).items():
        ran = {key: what for key, what in rows.items() if what != "not run"}
        lost = [key.split(": ", 1)[1] for key, what in ran.items() if what.startswith("lost")]
        slower = [key.split(": ", 1)[1] for key, what in ran.items() if what.startswith("slower")]
        named = ", ".join(lost[:4] + slower[: max(4 - len(lost), 0)])
        more = len(lost) + len(slower) - min(len(lost) + len(slower), 4)
        count = f"{len(rows)}" if len(ran) == len(rows) else f"{len(rows)} ({len(ran)} measured)"
        others = f" and {more} more" if more > 0 else ""
        print(f"| {name} | {count} | {len(lost)} | {len(slower)} | {named}{others} |")


def check() -> int:
    """Print the mechanisms whose function no longer exists, and return their number."""
    missing = []
    for mechanism in MECHANISMS:
        try:
            _located(mechanism.target)
        except (KeyError, ImportError):
            missing.append(mechanism)
            print(f"{mechanism.name}: {mechanism.target} does not exist")
    return len(missing)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=("baseline", "run", "table", "check"))
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--list", action="append", choices=tuple(SETS))
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--at-most", type=float, default=MAX_BASELINE_SECONDS)
    parser.add_argument("--thresholds", action="store_true")
    given = parser.parse_args()
    if given.action == "baseline":
        baseline(given.files[0], given.list or DEFAULT, given.at_most)
    elif given.action == "run":
        run(given.files[0], given.files[1], given.only, given.budget, given.thresholds)
    elif given.action == "table":
        table(given.files[0])
    else:
        sys.exit(check() > 0)


if __name__ == "__main__":
    main()
