"""solve(problem, engine=client): equal results from other processes, also if workers fail."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.hybridized import ReferenceCell, cell_system
from pibls.adaptive.progress_display import _format
from pibls.adaptive.validation.context import ValidationContext
from pibls.assembly.hybridized.cell_system import CellSystem
from pibls.linalg.threads import limit_blas_threads
from pibls.linalg.tree import block_qr, distributed, staircase
from pibls.linalg.tree.engine import LOCAL, EngineProgress, LocalEngine, MemoryDemand, TooLargeError
from pibls.linalg.tree.fronts import ContributionBlock, FrontPlan, eliminate, plan_fronts
from pibls.linalg.tree.layout import Layout
from pibls.nonlinear import GaussNewton, Outcome
from pibls.problem.forms.compilation import compile_problem
from pibls.spaces import CellTree

dask = pytest.importorskip("distributed", reason="the extra 'engine' (dask, distributed) is not installed")

x, y = sp.symbols("x y")
u, v = (sp.Function(name)(x, y) for name in "uv")
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two worker processes for all tests; a killed worker is restarted."""
    quiet = {"dashboard_address": None, "silence_logs": 50}
    with (
        dask.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **quiet) as cluster,
        dask.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def send_small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send small problems too, in few tasks because of the overhead of the scheduler."""
    monkeypatch.setattr(distributed, "MIN_TASK_OPERATIONS", 1e6)
    monkeypatch.setattr(distributed, "_TASKS_PER_THREAD", 1)


def linear() -> pibls.Problem:
    exact = sp.sin(5 * x + 2 * y) * sp.exp(x * y)
    source = exact.diff(x, 2) + exact.diff(y, 2) + 4 * exact
    return pibls.Problem(
        SQUARE, [sp.Eq(u.diff(x, 2) + u.diff(y, 2) + 4 * u, source)], [pibls.Dirichlet(u, exact)]
    )


def nonlinear() -> pibls.Problem:
    """Two unknowns, one of them squared, and a Python function among the data."""
    a, b = sp.sin(x + y), sp.cos(x - y)
    return pibls.Problem(
        SQUARE,
        [
            sp.Eq(u.diff(x, 2) + u.diff(y, 2) - u**2 * v, a.diff(x, 2) + a.diff(y, 2) - a**2 * b),
            sp.Eq(v.diff(x, 2) + v.diff(y, 2) + u, b.diff(x, 2) + b.diff(y, 2) + a),
        ],
        [pibls.Dirichlet(u, lambda x, y: np.sin(x + y)), pibls.Dirichlet(v, b)],
    )


def cells_of(problem: pibls.Problem, engine: Any, cells: int = 3, nodes: int = 24) -> CellSystem:
    context = ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-8)
    tree = CellTree.grid(context.box, (cells, cells))
    space = ReferenceCell.drawn(nodes, 2, 1.0, context.stream(1, 0)).over(tree, context.compiled.unknowns)
    return cell_system(context.compiled, context.domain, space, engine)


def solve_in_cells(problem: pibls.Problem, engine: Any, **more: int) -> Outcome:
    with limit_blas_threads(1):
        return GaussNewton(rounds=0).solve(cells_of(problem, engine, **more), np.random.default_rng(0))


@pytest.mark.parametrize("problem", [linear, nonlinear])
def test_distributed_result_is_bitwise_equal(client: Any, problem: Callable[[], pibls.Problem]) -> None:
    reports: list[EngineProgress] = []
    engine = distributed.Distributed(client, reports.append)
    remote, local = solve_in_cells(problem(), engine), solve_in_cells(problem(), LOCAL)
    assert engine._sent > 10  # tasks were sent
    np.testing.assert_array_equal(remote.w, local.w)
    assert remote.steps == local.steps
    assert reports[0].workers == 2
    assert reports[0].needed_bytes > 0


def test_result_is_independent_of_bundle_size(client: Any) -> None:
    class SmallBundles(LocalEngine):
        def limit(self, work: float) -> float:
            return work / 30

    assert len(cells_of(linear(), SmallBundles()).layout.bundles) > 10
    np.testing.assert_array_equal(
        solve_in_cells(linear(), SmallBundles()).w, solve_in_cells(linear(), LOCAL).w
    )


def test_adaptive_solve_with_engine(client: Any) -> None:
    """Two materials, which only cells resolve: progress, equal results and estimate."""
    k = sp.Piecewise((1, x < sp.Rational(1, 2)), (10, True))
    problem = pibls.Problem(
        SQUARE,
        [sp.Eq(pibls.div(k * pibls.grad(u)), 0)],
        [
            pibls.Dirichlet(u, 0, on=sp.Eq(x, 0)),
            pibls.Dirichlet(u, 1, on=sp.Eq(x, 1)),
            pibls.Neumann(u, 0, on=sp.Or(sp.Eq(y, 0), sp.Eq(y, 1))),
        ],
    )
    reports: list[pibls.Progress] = []
    remote = pibls.solve(problem, tol=1e-6, engine=client, callback=reports.append)
    local = pibls.solve(problem, tol=1e-6)
    shared = [now for now in reports if now.share is not None]
    assert shared
    assert "2 workers of up to" in _format(shared[0])
    assert remote.converged
    assert remote.settings == local.settings
    X = np.random.default_rng(0).uniform(size=(2, 200))
    np.testing.assert_array_equal(remote(*X), local(*X))
    assert remote.error.max == local.error.max
    assert all(now.share is None for now in remote.history)
    exact = np.where(X[0] < 0.5, 20 * X[0], 9 + 2 * X[0]) / 11
    assert np.abs(remote(*X) - exact).max() <= remote.error.max


def test_lost_worker_is_replaced(client: Any) -> None:
    """One of two processes is killed while the factors are in use: its part is recomputed."""
    system = cells_of(linear(), distributed.Distributed(client))
    J, b = system.linearize(np.empty(0))
    factors = block_qr.factor(J, J.row_norms, 1e-17)
    before = factors.apply(b)
    pids = client.run(os.getpid)
    holders = {w for keys in client.who_has(list(factors.fronts)).values() for w in keys}
    os.kill(pids[sorted(holders)[0]], getattr(signal, "SIGKILL", signal.SIGTERM))
    np.testing.assert_array_equal(factors.apply(b), before)
    local = cells_of(linear(), LOCAL)
    local_J, _ = local.linearize(np.empty(0))
    np.testing.assert_array_equal(block_qr.factor(local_J, local_J.row_norms, 1e-17).apply(b), before)
    client.wait_for_workers(2, timeout=60)


def test_interruption_returns_best_solution(client: Any) -> None:
    """Ctrl-C while tasks are running: the best solution is returned, and the workers stay usable.

    With a material interface only cells are tried, independent of the speed of the machine.
    """
    peak = sp.exp(-3000 * ((x - sp.Rational(1, 3)) ** 2 + (y - sp.Rational(1, 2)) ** 2))
    k = sp.Piecewise((1, x < sp.Rational(1, 2)), (2, True))
    problem = pibls.Problem(SQUARE, [pibls.div(k * pibls.grad(u)) - peak], [pibls.Dirichlet(u, 0)])

    result: list[pibls.Progress] = []

    def interrupt(now: pibls.Progress) -> None:
        if now.share is None and now.nodes > 0:  # a candidate, not a periodic report
            result.append(now)
        elif result and now.share is not None and now.share.tasks > 0:
            raise KeyboardInterrupt  # as by Ctrl-C, also where the signal is ignored

    with pytest.warns(pibls.ConvergenceWarning, match="Interrupted"):
        solution = pibls.solve(problem, engine=client, callback=interrupt)
    assert solution.status is pibls.Status.INTERRUPTED
    assert np.isfinite(solution(0.5, 0.5))
    assert client.submit(abs, -1).result(timeout=60) == 1


class SmallClient:
    """A client whose only worker has little memory."""

    status, asynchronous = "running", False

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def scheduler_info(self, n_workers: int = 5) -> distributed.SchedulerInfo:
        return {"workers": {"one": {"nthreads": 2, "memory_limit": self.limit}}}

    def submit(self, *work: Any, **options: Any) -> Any:
        raise AssertionError("nothing may be sent")

    gather = submit


def test_too_large_problem_is_rejected_before_it_starts() -> None:
    basis = pibls.Decomposed((8, 8), pibls.Waves(64, scale=10.0))
    with pytest.raises(pibls.ProblemError, match=r"engine: expected workers that can use 0\.\d+ GiB each \(2 "
                       r"thread.*held by all.*got a worker with 0\.2 GiB.*more workers"):  # fmt: skip
        pibls.solve(linear(), basis=basis, method=pibls.GaussNewton(), engine=SmallClient(200 << 20))


def test_cell_strategy_ends_at_the_memory_limit() -> None:
    """The best candidate so far is kept."""
    problem = pibls.Problem(SQUARE, [sp.Eq(u.diff(x, 2) + u.diff(y, 2), -1)], [pibls.Dirichlet(u, 0)])
    from pibls.adaptive.budget import Budget
    from pibls.adaptive.cells.strategy import CellStrategy

    strategy = CellStrategy(
        ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-9), Budget(0.0, None, 4000)
    )
    strategy.advance()
    first = strategy.best
    object.__setattr__(strategy.context, "engine", distributed.Distributed(SmallClient(200 << 20)))
    strategy.advance()
    assert strategy.status is pibls.Status.MEMORY_LIMIT
    assert strategy.best is first
    assert strategy.has_ended


@pytest.mark.parametrize("engine", [4, "tcp://localhost:8786", dask.Client])
def test_invalid_client_is_rejected(engine: Any) -> None:
    with pytest.raises(
        pibls.ProblemError, match=r"engine: expected a dask.distributed.Client.*Client\(n_wor"
    ):
        pibls.solve(linear(), engine=engine)


def test_closed_client_is_rejected() -> None:
    closed_client = SmallClient(0)
    closed_client.status = "closed"
    with pytest.raises(pibls.ProblemError, match="engine: expected a client that is connected"):
        pibls.solve(linear(), engine=closed_client)


def test_memory_estimate_covers_actual_memory() -> None:
    """The estimate is between 1 and 4 times the actual memory."""

    class RecordingEngine(LocalEngine):
        def limit(self, work: float) -> float:
            return work / 8

        def admit(self, demand: MemoryDemand) -> None:
            demands.append(demand)

    demands: list[MemoryDemand] = []
    for problem in (linear(), nonlinear()):
        system = cells_of(problem, RecordingEngine(), 8, 64)
        J, _ = system.linearize(system.values_of_constant(0.0))
        factors = block_qr.factor(J, J.row_norms, 1e-17)
        systems = [c.system for batch in system.local_batches for c in batch]
        jets = sum(phi.nbytes for s in systems for b in s.blocks for phi in b.tables)
        rows = sum(s.linear.nbytes for s in systems)
        changed = (
            0 if system.is_linear else sum(s.blocks[0].nbytes for p in J.engine.get(J.blocks) for s in p)
        )
        couplings = sum(
            B.nbytes for batch in system.local_batches for c in batch for s in c.face_strips for B in s.blocks
        )
        actual = jets + rows + changed + couplings + sum(map(distributed._bytes, factors.fronts))
        assert actual < demands[-1].total < 4 * actual
        assert demands[-1].largest_task < demands[-1].total


@pytest.mark.parametrize("seed", range(3))
def test_staircase_reduction_is_a_qr(seed: int) -> None:
    """For a triangle R and rows B with leading zeros, Qᵀ[R; B] is triangular."""
    rng = np.random.default_rng(seed)
    n, starts = 240, np.sort(np.concatenate([np.arange(0, 150, 2), np.arange(90)]))
    R = np.triu(rng.standard_normal((n, n)))
    B = np.where(np.arange(n) >= starts[:, None], rng.standard_normal((len(starts), n)), 0.0)
    right = rng.standard_normal((n, 3)), rng.standard_normal((len(starts), 3))
    top, bottom = np.asfortranarray(np.column_stack([R, right[0]])), np.column_stack([B, right[1]])
    transformed = [np.asfortranarray(part) for part in right]
    triangle = np.asfortranarray(R)
    steps = staircase.reduce_below(triangle, np.asfortranarray(B), starts, [(transformed[0], transformed[1])])
    for step in steps:
        step.apply_transpose(top, bottom)
    np.testing.assert_allclose(top, np.column_stack([triangle, transformed[0]]), atol=1e-12)
    np.testing.assert_allclose(bottom[:, :n], 0.0, atol=1e-12)
    np.testing.assert_allclose(bottom[:, n:], transformed[1], atol=1e-12)
    np.testing.assert_allclose(triangle, np.triu(triangle))
    assert sum(s.reflectors.V.size for s in steps) < 0.9 * B.size


@pytest.mark.parametrize("known", [True, False])
def test_contribution_blocks_are_merged(known: bool) -> None:
    """Two contribution blocks: QᵀF = [R, beside; 0, rest], also for a zero column."""
    rng = np.random.default_rng(0)
    widths = {0: 6, 1: 5, 2: 9, 3: 7}
    plan, ridge = FrontPlan((0, 1), (2, 3), (), (0, 1)), 1e-12
    columns = {0: np.arange(6), 1: np.arange(6, 11), 2: np.arange(11, 20), 3: np.arange(20, 27)}
    contributions, rows = [], [np.zeros((0, 27))]
    for parts in ((0, 1, 2), (0, 1, 3)):
        own_columns = np.concatenate([columns[p] for p in parts])
        triangle = np.triu(rng.standard_normal((len(own_columns), len(own_columns))))
        triangle[:, 4] *= known
        contributions.append(ContributionBlock(parts, triangle))
        rows.append(np.zeros((len(own_columns), 27)))
        rows[-1][:, own_columns] = triangle
    front, rest = eliminate(plan, widths, [], {}, contributions, ridge)
    F = np.concatenate([*rows, np.zeros((0 if known else 11, 27))])
    if not known:
        F[-11:, :11] = ridge * np.eye(11)
    R = np.block([[front.triangle, front.beside], [np.zeros((16, 11)), rest.rows]])
    np.testing.assert_allclose(R.T @ R, F.T @ F, atol=1e-12)
    assert np.abs(front.triangle.diagonal()).min() >= 0.5 * ridge
    own, passed_on = front.apply_transpose([part[:, 20] for part in rows[1:]])
    np.testing.assert_allclose(own, front.beside[:, 9], atol=1e-12)
    np.testing.assert_allclose(passed_on, rest.rows[:, 9], atol=1e-12)
    assert front.below == (11 if known else 22)  # ridge rows are added only where needed


def test_cell_is_eliminated_first_in_its_own_columns() -> None:
    """Rows of a cell, and rows shared with two faces: QᵀF = [R, beside; 0, rest]."""
    rng = np.random.default_rng(0)
    widths, plan = {0: 40, 1: 9, 2: 7}, FrontPlan((0,), (1, 2), (0, 1, 2), ())
    shapes: list[tuple[tuple[int, ...], int]] = [((0,), 50), ((0, 1), 20), ((0, 2), 15)]
    blocks = [(parts, [rng.standard_normal((rows, widths[p])) for p in parts]) for parts, rows in shapes]
    weighted = [(parts, found, np.ones((len(found[0]), 1))) for parts, found in blocks]
    front, rest = eliminate(plan, widths, weighted, {p: np.ones(n) for p, n in widths.items()}, [], 1e-3)
    F = np.zeros((40 + 85, 56))
    F[np.arange(40), np.arange(40)] = 1e-3
    F[40:, :40] = np.concatenate([found[0] for _, found in blocks])
    F[90:110, 40:49], F[110:, 49:] = blocks[1][1][1], blocks[2][1][1]
    row_blocks = np.split(F[40:], [50, 70])
    for j in range(56):
        b = [block[:, j] for block in row_blocks]
        if j >= 40:  # the ridge is zero there, as for a right-hand side
            own, passed_on = front.apply_transpose(b)
            np.testing.assert_allclose(own, front.beside[:, j - 40], atol=1e-12)
            np.testing.assert_allclose(passed_on, rest.rows[:, j - 40], atol=1e-12)
    R = np.block([[front.triangle, front.beside], [np.zeros((len(rest.rows), 40)), rest.rows]])
    np.testing.assert_allclose(R.T @ R, F.T @ F, atol=1e-10)


def test_bundles_contain_every_front_once_after_its_children() -> None:
    rng = np.random.default_rng(0)
    touched = [(p, q) for p in range(40) for q in {int(rng.integers(p, 40))}]
    columns = [np.arange(3 * p, 3 * p + 3) for p in range(40)]
    fronts = plan_fronts(touched, 40)

    class SmallBundles(LocalEngine):
        def limit(self, work: float) -> float:
            return work / 7

    layout = Layout.of(touched, columns, engine=SmallBundles(), heights=[5] * len(touched))
    assert sorted(f for b in layout.bundles for f in b.fronts) == list(range(len(fronts)))
    assert sorted(s for b in layout.bundles for s in b.strips) == list(range(len(touched)))
    seen: set[int] = set()
    for bundle in layout.bundles:
        assert set(bundle.inputs) <= seen
        seen |= set(bundle.outputs)
    assert len(layout.bundles) > 3


def test_too_large_is_a_problem_error() -> None:
    assert issubclass(TooLargeError, pibls.ProblemError)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workers", "0"], "--workers: expected a whole number of at least 1, got 0"),
        (["--workers", "2", "--scheduler", "tcp://localhost:1"], "--workers: expected either"),
    ],
)
def test_command_rejects_invalid_workers(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = _command(tmp_path, *arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_command_connects_to_a_scheduler(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = _command(tmp_path, "--scheduler", client.scheduler.address)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "problem.pibls").exists()
    monkeypatch.setattr("pibls.cli.dask_client._CONNECT_TIMEOUT", 0.2)
    result = _command(tmp_path, "--scheduler", "tcp://127.0.0.1:9")
    assert result.exit_code == 2
    assert "expected the address of a running Dask scheduler, got tcp://127.0.0.1:9" in result.output


def _command(folder: Path, *arguments: str) -> Any:
    from typer.testing import CliRunner

    from pibls.cli.app import app
    from pibls.io.templates import template

    file = folder / "problem.toml"
    file.write_text(template("ode"), encoding="utf-8")
    return CliRunner().invoke(app, ["solve", str(file), *arguments])
