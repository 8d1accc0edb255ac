"""solve(problem, engine=client): deadline, interruptions, and busy, lost or missing workers.

The workers are threads of this process. A timer frees a blocked worker after a minute: a solve that waits for
it without a deadline fails by its duration.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.progress_display import _format
from pibls.linalg.tree import distributed
from pibls.linalg.tree.engine import LOCAL, EngineProgress
from pibls.runtime.deadline import OutOfTimeError, check_deadline

dask = pytest.importorskip("distributed", reason="the extra 'engine' (dask, distributed) is not installed")

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})
pytestmark = pytest.mark.filterwarnings("ignore::pibls.ConvergenceWarning", "ignore:Port")
EVENTS: dict[str, threading.Event] = {}
"""Events of the tasks, by name, since events cannot be sent to workers."""
RELEASE_SECONDS = 60.0
"""Seconds after which a blocked worker is freed."""
MAX_SECONDS = 25.0
"""Seconds within which a solve with a limit of a few ends on any machine."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    pibls.solve(peak(), tol=0.1)  # imports are excluded from the measured time
    with dask.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    with dask.Client(cluster) as client:
        client.wait_for_workers(1, timeout=60)
        yield client


@pytest.fixture
def busy(client: Any) -> Iterator[threading.Event]:
    """The only worker is busy with a foreign task."""
    release, started = events()
    task = client.submit(_block, pure=False)
    timer = threading.Timer(RELEASE_SECONDS, release.set)
    timer.start()
    assert started.wait(timeout=60)
    yield release
    timer.cancel()
    release.set()
    task.result(timeout=60)


def events() -> tuple[threading.Event, threading.Event]:
    EVENTS.update(release=threading.Event(), started=threading.Event())
    return EVENTS["release"], EVENTS["started"]


def _block() -> None:
    EVENTS["started"].set()
    EVENTS["release"].wait()


@pytest.fixture(autouse=True)
def send_small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "MIN_TASK_OPERATIONS", 1e6)
    monkeypatch.setattr(distributed, "_TASKS_PER_THREAD", 2)


def peak() -> pibls.Problem:
    """Two materials, which only cells resolve, and a narrow source: many candidates."""
    source = sp.exp(-3000 * ((x - sp.Rational(1, 3)) ** 2 + (y - sp.Rational(1, 2)) ** 2))
    k = sp.Piecewise((1, x < sp.Rational(1, 2)), (2, True))
    return pibls.Problem(SQUARE, [pibls.div(k * pibls.grad(u)) - source], [pibls.Dirichlet(u, 0)])


def smooth() -> pibls.Problem:
    exact = sp.sin(3 * x + 2 * y)
    return pibls.Problem(SQUARE, [u.diff(x, 2) + u.diff(y, 2) + 13 * exact], [pibls.Dirichlet(u, exact)])


FIXED_SETTINGS: dict[str, Any] = {
    "basis": pibls.Decomposed((2, 3), pibls.Waves(48, scale=2.0)),
    "method": pibls.GaussNewton(rounds=0),
}


def solve_limited(engine: Any, limit: float, **more: Any) -> tuple[pibls.Solution, float]:
    """Return the solution within a time limit, and its seconds."""
    started_at = time.perf_counter()
    with pytest.warns(pibls.ConvergenceWarning):
        solution = pibls.solve(peak(), tol=1e-11, engine=engine, time_limit=limit, **more)
    seconds = time.perf_counter() - started_at
    assert solution.status is pibls.Status.TIME_LIMIT
    assert np.isfinite(solution(0.3, 0.6))
    return solution, seconds


def test_time_limit_holds_with_working_workers(client: Any) -> None:
    sent: list[EngineProgress] = []
    _, seconds = solve_limited(client, 6.0, callback=lambda now: sent.append(now.share))
    assert seconds < MAX_SECONDS
    assert any(share is not None for share in sent)
    assert client.submit(abs, -1).result(timeout=60) == 1  # the user's client is still connected


def test_time_limit_holds_with_busy_workers(client: Any, busy: threading.Event) -> None:
    _, seconds = solve_limited(client, 2.0)
    assert seconds < MAX_SECONDS
    assert not busy.is_set()


def test_time_limit_holds_with_lost_worker(cluster: Any, client: Any) -> None:
    """The worker leaves while tasks are running; the best solution is returned."""
    lost_at: list[int] = []

    def leave(now: pibls.Progress) -> None:
        if not lost_at and now.share is not None:
            lost_at.append(now.nodes)
            cluster.scale(0)

    timer = threading.Timer(RELEASE_SECONDS, lambda: cluster.scale(1))
    timer.start()
    try:
        solution, seconds = solve_limited(client, 6.0, callback=leave)
    finally:
        timer.cancel()
        cluster.scale(1)
    assert lost_at
    assert seconds < MAX_SECONDS
    assert solution.nodes >= lost_at[0]


def test_lost_scheduler_returns_best_solution() -> None:
    with dask.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50
    ) as cluster:
        client = dask.Client(cluster, timeout=2)
        done: list[int] = []

        def close(now: pibls.Progress) -> None:
            if now.share is None:
                done.append(now.nodes)
            elif done and done[-1] > 0 and cluster.status.name == "running":
                cluster.close()

        lost = r"Interrupted.*The engine was lost: engine: expected workers.* got .*create a new client"
        with pytest.warns(pibls.ConvergenceWarning, match=lost):
            solution = pibls.solve(
                peak(), tol=1e-11, engine=client, callback=close, time_limit=RELEASE_SECONDS
            )
        client.close()
    assert solution.status is pibls.Status.INTERRUPTED
    assert solution.nodes == done[-1]


def test_interruption_ends_the_wait(client: Any, busy: threading.Event) -> None:
    """Control returns immediately, although no worker responds."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(4.0, interrupt)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            pibls.solve(smooth(), engine=client, **FIXED_SETTINGS)
        seconds = time.perf_counter() - sent[0]
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert seconds < 5.0
    assert not busy.is_set()


def test_cancelled_task_stops(client: Any) -> None:
    """A worker does not continue a task without a waiting client."""
    ended, started = events()
    engine = distributed.Distributed(client)
    handle = engine.call(_endless)
    assert started.wait(timeout=30)
    engine._cancel()
    assert ended.wait(timeout=20)
    del handle


def _endless() -> None:
    started_at = time.monotonic()
    EVENTS["started"].set()
    try:
        while time.monotonic() - started_at < RELEASE_SECONDS:
            check_deadline()
            time.sleep(0.01)
    finally:
        EVENTS["release"].set()


def test_dropped_handles_do_not_disconnect_the_client(client: Any) -> None:
    """Tasks whose handles were dropped depend on tasks that are cancelled.

    client.cancel would make the scheduler close the connection, and all tasks of the user would be lost.
    """
    engine, user_task = distributed.Distributed(client), client.submit(abs, -3)
    release, _ = events()
    first = engine.call(_block)
    middle = engine.call(_first, first)
    last = engine.call(_first, middle)
    del middle
    engine.deadline = time.perf_counter() + 0.2
    try:
        with pytest.raises(OutOfTimeError):
            engine.get([last])
    finally:
        release.set()
    assert user_task.result(timeout=30) == 3
    assert client.status == "running"


def _first(value: Any) -> Any:
    return value


def test_solve_waits_for_workers_of_adaptive_cluster() -> None:
    shares: list[EngineProgress] = []

    def record(now: pibls.Progress) -> None:
        if now.share is not None:
            shares.append(now.share)
            assert _format(now).endswith("waiting for workers") == (now.share.workers == 0)

    with (
        dask.LocalCluster(
            n_workers=0, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        dask.Client(cluster) as client,
    ):
        cluster.adapt(minimum=0, maximum=2, interval="50ms")
        remote = pibls.solve(smooth(), engine=client, callback=record, **FIXED_SETTINGS)
    assert shares[0].workers == 0
    assert shares[-1].workers > 0
    assert remote(0.3, 0.6) == pibls.solve(smooth(), **FIXED_SETTINGS)(0.3, 0.6)


def test_cluster_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejected after a timeout; with a time limit, the solve ends at the limit."""
    with (
        dask.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        dask.Client(cluster) as client,
    ):
        started_at = time.perf_counter()
        with pytest.warns(pibls.ConvergenceWarning):
            solution = pibls.solve(smooth(), engine=client, time_limit=1.5, **FIXED_SETTINGS)
        assert solution.status is pibls.Status.TIME_LIMIT
        assert time.perf_counter() - started_at < MAX_SECONDS
        monkeypatch.setattr(distributed, "_WORKER_TIMEOUT", 1.0)
        with pytest.raises(
            pibls.ProblemError, match=r"engine: expected workers.*got no worker within 1 s.*wait_for_workers"
        ):
            pibls.solve(smooth(), engine=client, **FIXED_SETTINGS)
        assert client.status == "running"


def test_fixed_basis_reports_progress_and_estimates_error_without_client(cluster: Any) -> None:
    reports: list[pibls.Progress] = []
    with dask.Client(cluster) as client:
        client.wait_for_workers(1, timeout=60)
        remote = pibls.solve(smooth(), engine=client, callback=reports.append, **FIXED_SETTINGS)
    shares = [now.share for now in reports if now.share is not None]
    assert shares
    assert shares[0].workers == 1
    assert shares[0].needed_bytes > 0
    assert remote.error.max == pibls.solve(smooth(), **FIXED_SETTINGS).error.max


def test_small_problems_use_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are solved in this process."""
    monkeypatch.setattr(distributed, "MIN_TASK_OPERATIONS", 1e12)

    class UnusableClient:
        status, asynchronous = "running", False

        def scheduler_info(self, n_workers: int = 5) -> Any:
            raise AssertionError("the scheduler must not be used")

        submit = gather = scheduler_info

    client: Any = UnusableClient()
    local = pibls.solve(smooth(), engine=client, **FIXED_SETTINGS)
    assert local(0.3, 0.6) == pibls.solve(smooth(), **FIXED_SETTINGS)(0.3, 0.6)
    assert distributed.Distributed(client).available is not LOCAL
