"""Signals during a solve: none is lost, and the handlers are restored afterwards."""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sympy as sp

import pibls
from pibls.runtime.interruption import keep_interrupts, raise_pending_interrupt

x, y = sp.symbols("x y")


@pytest.fixture(autouse=True)
def _default_handler() -> Iterator[None]:
    """Set the default handler: background jobs of a shell ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the exceptions that Python ignores in finalizers."""
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    return seen


class Interrupting:
    """An object whose finalizer is interrupted."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def steep_layer() -> pibls.Problem:
    """Return a problem with a steep layer, which takes many candidates."""
    u = sp.Function("u")(x, y)
    exact = sp.tanh(20 * (x + y - 1))
    equation = sp.Eq(u.diff(x, 2) + u.diff(y, 2), exact.diff(x, 2) + exact.diff(y, 2))
    return pibls.Problem(pibls.Box({x: (0, 1), y: (0, 1)}), [equation], [pibls.Dirichlet(u, exact)])


def solve_with_action(action: Callable[[], object], *, after: int = 2) -> tuple[pibls.Solution, int]:
    """Return a solution with an action in its callback, and the number of calls after the action."""
    calls = 0

    def callback(_: pibls.Progress) -> None:
        nonlocal calls
        calls += 1
        if calls == after:
            action()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(steep_layer(), tol=1e-13, callback=callback)
    return solution, calls - after


def test_interrupt_in_a_finalizer_ends_the_solve(unraisable: list[Any]) -> None:
    solution, later = solve_with_action(lambda: type(Interrupting()))
    assert [type(e.exc_value) for e in unraisable] == [KeyboardInterrupt]
    assert solution.status is pibls.Status.INTERRUPTED
    assert later == 0, "the next check raises it, before another candidate is complete"


def test_handler_that_does_not_raise_does_not_interrupt() -> None:
    seen: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    try:
        solution, later = solve_with_action(lambda: signal.raise_signal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert seen == [signal.SIGINT]
    assert later > 0
    assert solution.status is not pibls.Status.INTERRUPTED


def test_exception_of_a_user_handler_is_raised(unraisable: list[Any]) -> None:
    class UserError(Exception):
        pass

    def raising(*_: Any) -> None:
        raise UserError

    signal.signal(signal.SIGINT, raising)
    try:
        with pytest.raises(UserError):
            solve_with_action(lambda: type(Interrupting()))
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert len(unraisable) == 1


def test_handler_set_inside_the_context_is_kept() -> None:
    def other(*_: Any) -> None:
        pass

    with keep_interrupts():
        signal.signal(signal.SIGINT, other)
    assert signal.getsignal(signal.SIGINT) is other
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_handlers_outside_python_are_unchanged(handler: Any) -> None:
    signal.signal(signal.SIGINT, handler)
    try:
        with keep_interrupts():
            assert signal.getsignal(signal.SIGINT) == handler
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_nested_contexts(unraisable: list[Any]) -> None:
    with pytest.raises(KeyboardInterrupt), keep_interrupts():  # noqa: PT012 - the inner context ends first
        outer = signal.getsignal(signal.SIGINT)
        with keep_interrupts():
            assert signal.getsignal(signal.SIGINT) is outer
            Interrupting()
        assert signal.getsignal(signal.SIGINT) is outer
        raise_pending_interrupt()
    raise_pending_interrupt()  # nothing is pending after the outermost context


def test_other_threads_are_not_interrupted(unraisable: list[Any]) -> None:
    raised: list[BaseException] = []

    def run_in_thread() -> None:
        try:
            with keep_interrupts():
                raise_pending_interrupt()
        except BaseException as problem:
            raised.append(problem)

    with keep_interrupts():
        Interrupting()
        thread = threading.Thread(target=run_in_thread)
        thread.start()
        thread.join()
    assert len(unraisable) == 1
    assert not raised
