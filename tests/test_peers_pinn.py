"""The PINNs of the comparison: translation into DeepXDE, training, interruption, time cap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.peers.adapter import Outcome, Setting, Task
from benchmarks.peers.deepxde_pinn import PINN1, PINN2, matching, size
from benchmarks.worker import held_out

import pibls

_ABSENT = PINN1().missing()
needs_deepxde = pytest.mark.skipif(_ABSENT is not None, reason=f"{_ABSENT}; {PINN1.install}")


@pytest.fixture
def restored_global_state() -> Iterator[None]:
    """Restore the global precision and thread settings of DeepXDE and torch after the test."""
    training = pytest.importorskip("benchmarks.peers.deepxde_training", reason=PINN1.install)
    torch = training.torch
    kind, threads = training.dde.config.default_float(), torch.get_num_threads()
    before = torch.get_default_dtype()
    yield
    training.dde.config.set_default_float(kind)
    torch.set_default_dtype(before)
    torch.set_num_threads(threads)


def _task(case: str, scratch: Path, **changes: Any) -> Task:
    """Return a task for PINN #1 with some of the setting's values changed."""
    problem = pibls.cases[case]
    setting = PINN1().settings(problem)[0]
    setting = replace(setting, values={**setting.values, **changes})
    return Task(problem, setting, 0, held_out(problem)[:500], 1, scratch)


def _error(task: Task, outcome: Outcome) -> float:
    return float(np.abs(outcome.values - task.case.exact(*task.points.T)).max())


@pytest.mark.parametrize("name", list(pibls.cases))
def test_network_has_as_many_weights_as_pibls(name: str) -> None:
    case = pibls.cases[name]
    wanted = case.published.settings["basis"].size
    layers = matching(len(case.problem.coordinates), wanted)
    wider, narrower = ([layers[0], *[layers[1] + k] * 3, 1] for k in (1, -1))
    assert abs(size(layers) - wanted) <= min(abs(size(x) - wanted) for x in (wider, narrower))
    assert abs(size(layers) - wanted) < 0.06 * wanted


@pytest.mark.parametrize("name", list(pibls.cases))
def test_one_setting_of_each_case_is_for_the_table(name: str) -> None:
    for adapter in (PINN1(), PINN2()):
        settings = adapter.settings(pibls.cases[name])
        assert [s.table for s in settings if s.label != "capped"].count(True) == 1
    assert {s.label: s.slow for s in PINN2().settings(pibls.cases[name])} == {"full": True, "capped": True}


def _exact_in_torch(name: str) -> Any:
    import torch

    pi = torch.pi
    return {
        "TC-5": lambda x: 0.5 + torch.exp(-2 * x[:, :1] ** 2 - 4 * x[:, 1:] ** 2),
        "TC-7": lambda x: torch.sin(pi * (x[:, :1] - x[:, 1:])),
        "TC-8": lambda x: torch.sin(pi * ((1 + x[:, :1]) * torch.exp(-x[:, 1:]) - 1)),
        "TC-9": lambda x: torch.sin(3 * pi * x + 0.15 * pi) * torch.cos(4 * pi * x - 0.4 * pi) + 1.5 + x / 10,
        "TC-10": lambda x: x * torch.sin(x),
    }[name]


@needs_deepxde
@pytest.mark.parametrize("name", ["TC-5", "TC-7", "TC-8", "TC-9", "TC-10"])
def test_exact_solution_has_zero_loss(name: str, restored_global_state: None) -> None:
    """With the exact solution in place of the network, all equations and conditions hold."""
    import deepxde as dde
    import torch
    from benchmarks.peers.deepxde_problem import build_pde

    dde.config.set_default_float("float64")
    case, u = pibls.cases[name], _exact_in_torch(name)

    def losses(net: Any) -> list[float]:
        data = build_pde(case.problem, case.published.settings["points"], net, 0)
        inputs = torch.as_tensor(data.train_x).requires_grad_()
        found = data.losses(None, net(inputs), dde.losses.get("MSE"), inputs, None)
        dde.gradients.clear()
        return [float(x.detach()) for x in found]

    right, wrong = losses(u), losses(lambda x: 1.5 * u(x) + 0.1 * x[:, :1] ** 3 + 0.2 * x[:, -1:] + 0.3)
    assert len(right) == 1 + len(case.problem.statements[1:])
    assert max(right) < 1e-18
    assert min(wrong) > 1e-4


@needs_deepxde
def test_training_reduces_the_error(tmp_path: Path, restored_global_state: None) -> None:
    errors = []
    for steps in (1, 200):
        task = _task("TC-3", tmp_path, adam_steps=steps)
        outcome = PINN1().run(task)
        assert outcome.facts["adam_steps"] == steps
        assert outcome.facts["weights"] == task.setting.values["weights"]
        assert not outcome.capped
        errors.append(_error(task, outcome))
    assert errors[1] < 0.5 * errors[0]


class _InterruptedError(Exception):
    pass


@needs_deepxde
@pytest.mark.parametrize("interruption", [("adam", 90), ("lbfgs", 40), ("lbfgs", 120)])
def test_interrupted_run_is_resumed(
    interruption: tuple[str, int],
    tmp_path: Path,
    restored_global_state: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch
    from benchmarks.peers import deepxde_training as training

    def task(folder: str) -> Task:
        (tmp_path / folder).mkdir(exist_ok=True)
        steps = {"adam_steps": 120, "lbfgs_steps": 120, "lbfgs_float": "float64"}
        return _task("TC-2", tmp_path / folder, layers=[1, 8, 8, 1], **steps)

    uninterrupted = PINN2().run(task("uninterrupted"))
    monkeypatch.setattr(training, "_STEPS_BETWEEN", 30)
    on_epoch_end = training.Checkpointer.on_epoch_end

    def stop(self: Any) -> None:
        on_epoch_end(self)
        if self.phase == interruption[0] and self.steps[self.phase] >= interruption[1]:
            raise _InterruptedError

    monkeypatch.setattr(training.Checkpointer, "on_epoch_end", stop)
    with pytest.raises(_InterruptedError):
        PINN2().run(task("interrupted"))
    left = torch.load(tmp_path / "interrupted" / training.FILE, weights_only=True)
    assert left["phase"] == interruption[0]
    monkeypatch.setattr(training.Checkpointer, "on_epoch_end", on_epoch_end)
    resumed = PINN2().run(task("interrupted"))
    assert resumed.seconds > left["seconds"] > 0
    assert resumed.facts["adam_steps"] == uninterrupted.facts["adam_steps"] == 120
    assert resumed.facts["lbfgs_iterations"] == uninterrupted.facts["lbfgs_iterations"]
    np.testing.assert_allclose(resumed.values, uninterrupted.values, atol=1e-6)
    # The state stays until the outcome is stored: a further run returns the same outcome without more steps.
    repeated = PINN2().run(task("interrupted"))
    assert repeated.facts["lbfgs_iterations"] == uninterrupted.facts["lbfgs_iterations"]
    np.testing.assert_allclose(repeated.values, resumed.values, atol=1e-6)


@needs_deepxde
def test_a_checkpoint_of_other_settings_is_not_resumed(tmp_path: Path, restored_global_state: None) -> None:
    import torch
    from benchmarks.peers.deepxde_training import FILE, load_checkpoint

    torch.save({"key": "another run"}, tmp_path / FILE)
    assert load_checkpoint(tmp_path / FILE, "this run") == {}
    assert load_checkpoint(tmp_path / FILE, "another run") == {"key": "another run"}


@needs_deepxde
def test_time_cap_is_reported(tmp_path: Path, restored_global_state: None) -> None:
    chosen = {"cap_seconds": 0.01, "adam_share": 0.5, "adam_steps": 45_000, "lbfgs_steps": 5000}
    outcome = PINN2().run(_task("TC-2", tmp_path, **chosen))
    step, iterations = outcome.facts["adam_steps"], outcome.facts["lbfgs_iterations"]
    assert outcome.capped
    assert 0 < step < 45_000
    assert 0 < iterations < 5000
    assert outcome.note == (
        f"capped at 0.01 s, Adam step {step:,} of 45,000, then {iterations:,} iterations of L-BFGS"
    )


def test_settings_contain_layers_steps_and_cap() -> None:
    setting: Setting = PINN2().settings(pibls.cases["TC-5"])[1]
    assert setting.values["layers"] == [2, *[50] * 10, 1]
    assert setting.values["adam_steps"] == 45_000
    assert setting.values["cap_seconds"] == 300.0
