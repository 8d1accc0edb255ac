"""Training of a PINN by Adam and then L-BFGS of DeepXDE, with checkpoints so that it can be interrupted.

The last checkpoint is kept; benchmarks.run deletes it after the outcome is stored.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("DDE_BACKEND", "pytorch")

import deepxde as dde
import torch
from deepxde.optimizers.config import LBFGS_options

from benchmarks.peers.adapter import Outcome, Task
from benchmarks.peers.deepxde_problem import build_pde, loss_weights, with_mapped_inputs
from pibls.geometry import box_of

FILE = "checkpoint.pt"
_STEPS_BETWEEN = 500
_SECONDS_BETWEEN = 20.0
_STRIDE = 50
"""Iterations of L-BFGS between two checks of the time limit."""

State = dict[str, Any]


class Checkpointer(dde.callbacks.Callback):
    """Callback that writes checkpoints (network, optimizer, step, seconds) and ends a phase at its limit.

    The seconds continue from those of the interrupted run.
    """

    def __init__(self, path: Path, key: str, checkpoint: State, clock: Callable[[], float]) -> None:
        super().__init__()
        self.path, self.key, self.clock = path, key, clock
        self.began, self.wall_began = clock(), time.perf_counter()
        self.before, self.wall_before = (
            checkpoint.get("seconds", 0.0),
            checkpoint.get("wall_seconds", 0.0),
        )
        self.phase = "adam"
        self.steps: dict[str, int] = dict(checkpoint.get("steps", {"adam": 0, "lbfgs": 0}))
        self.limit = math.inf
        self.ended_by_limit = False
        self._kept = (0, 0.0)

    def seconds(self) -> float:
        return float(self.before + self.clock() - self.began)

    def wall_seconds(self) -> float:
        return float(self.wall_before + time.perf_counter() - self.wall_began)

    def enter(self, phase: str, limit: float) -> None:
        """Start or resume a phase; ``limit`` counts the seconds of all phases and runs."""
        self.phase, self.limit, self.ended_by_limit = phase, limit, False
        self._kept = (self.steps[phase], time.perf_counter())

    def on_epoch_end(self) -> None:
        self._count(1)
        if self.seconds() >= self.limit:
            self.ended_by_limit = self.model.stop_training = True
        step, last_time = self._kept
        if (
            self.steps[self.phase] - step >= _STEPS_BETWEEN
            or time.perf_counter() - last_time >= _SECONDS_BETWEEN
        ):
            self.keep()

    def on_train_end(self) -> None:
        # DeepXDE does not call on_epoch_end when L-BFGS converges.
        self._count(0)
        self.keep()

    def _count(self, more: int) -> None:
        if self.phase == "adam":
            self.steps["adam"] += more
        else:
            self.steps["lbfgs"] = iterations_of(self.model.opt)

    def keep(self) -> None:
        """Write a checkpoint; the file is replaced atomically."""
        self._kept = (self.steps[self.phase], time.perf_counter())
        schedule = self.model.lr_scheduler
        state: State = {
            "key": self.key,
            "phase": self.phase,
            "steps": self.steps,
            "seconds": self.seconds(),
            "wall_seconds": self.wall_seconds(),
            "net": self.model.net.state_dict(),
            "optimizer": self.model.opt.state_dict(),
            "schedule": schedule.state_dict() if schedule is not None else None,
        }
        temporary = self.path.with_suffix(".tmp")
        torch.save(state, temporary)
        os.replace(temporary, self.path)


def load_checkpoint(path: Path, key: str) -> State:
    """Return the checkpoint of an interrupted run of the same setting and seed, or an empty dictionary."""
    if not path.exists():
        return {}
    state: State = torch.load(path, weights_only=True)
    return state if state["key"] == key else {}


def train(task: Task) -> Outcome:
    """Train with the given setting, resuming an interrupted run."""
    values = task.setting.values
    torch.set_num_threads(task.threads)
    _keep_freed_memory()
    # With one thread, CPU time is the wall time on an idle machine.
    clock = time.process_time if task.threads == 1 else time.perf_counter
    key = json.dumps([task.case.name, dict(values), task.seed], sort_keys=True)
    state = load_checkpoint(task.scratch / FILE, key)
    checkpointer = Checkpointer(task.scratch / FILE, key, state, clock)
    model = _model(task, values["float"])
    if state:
        # The set-up time was counted in the interrupted run.
        checkpointer.began, checkpointer.wall_began = clock(), time.perf_counter()
    cap = values["cap_seconds"] or math.inf
    stages = [("adam", values["adam_steps"], values["adam_share"] * cap)]
    stages += [("lbfgs", values["lbfgs_steps"], cap)] if values["lbfgs_steps"] else []
    capped = False
    for phase, steps, limit in stages:
        resumed = state if state.get("phase") == phase else {}
        if phase == "adam" and state.get("phase") == "lbfgs":
            capped |= state["steps"]["adam"] < steps
            continue
        if phase == "lbfgs":
            model = _in_precision(task, model, values["lbfgs_float"])
        _phase(model, checkpointer, phase, steps, limit, values, resumed)
        capped |= checkpointer.ended_by_limit
    seconds, wall = checkpointer.seconds(), checkpointer.wall_seconds()
    predicted = model.predict(task.points)[:, 0]
    losses = model.train_state.loss_train
    facts = {
        "weights": model.net.num_trainable_parameters(),
        "adam_steps": checkpointer.steps["adam"],
        "lbfgs_iterations": checkpointer.steps["lbfgs"],
        "loss": None if losses is None else float(losses.sum()),
        "loss_weights": [round(w, 3) for w in model.loss_weights],
        "wall_seconds": wall,
    }
    return Outcome(
        predicted, seconds, facts=facts, note=_note(values, checkpointer.steps, capped), capped=capped
    )


def _note(values: Mapping[str, Any], steps: Mapping[str, int], capped: bool) -> str:
    if not capped:
        return ""
    note = f"capped at {values['cap_seconds']:g} s, Adam step {steps['adam']:,} of {values['adam_steps']:,}"
    return note + (f", then {steps['lbfgs']:,} iterations of L-BFGS" if values["lbfgs_steps"] else "")


def _model(task: Task, kind: str) -> Any:
    """Return network and problem in float32 or float64."""
    _set_float(kind)
    dde.config.set_random_seed(task.seed)
    net = dde.nn.FNN(list(task.setting.values["layers"]), "tanh", "Glorot normal")
    return _build_model(task, net)


def _in_precision(task: Task, model: Any, kind: str) -> Any:
    """Return the same network and problem in another precision."""
    if dde.config.default_float() == kind:
        return model
    _set_float(kind)
    return _build_model(task, model.net.to(dde.config.real(torch)))


def _build_model(task: Task, net: Any) -> Any:
    problem = task.case.problem
    with_mapped_inputs(net, box_of(problem.domain))
    return dde.Model(build_pde(problem, task.case.published.settings["points"], net, task.seed), net)


def _set_float(kind: str) -> None:
    if dde.config.default_float() != kind:
        dde.config.set_default_float(kind)


def _phase(
    model: Any,
    checkpointer: Checkpointer,
    phase: str,
    steps: int,
    limit: float,
    values: Mapping[str, Any],
    state: State,
) -> None:
    """Run Adam or L-BFGS for the remaining steps and seconds."""
    weights = loss_weights(model.data, values["relative"])
    if phase == "adam":
        decay = ("cosine", steps, 0.0) if values["decay"] == "cosine" else None
        model.compile("adam", lr=values["rate"], decay=decay, loss_weights=weights, verbose=0)
    else:
        stride = min(_STRIDE, steps)
        # Tolerances are the defaults of DeepXDE; the stride has no setter.
        LBFGS_options.update(maxiter=steps, iter_per_step=stride, fun_per_step=5 * stride // 4)
        model.compile("L-BFGS", loss_weights=weights, verbose=0)
    if state:
        model.net.load_state_dict(state["net"])
        model.opt.load_state_dict(state["optimizer"])
        if state["schedule"] is not None:
            model.lr_scheduler.load_state_dict(state["schedule"])
    checkpointer.enter(phase, limit)
    left = steps - checkpointer.steps[phase]
    if left <= 0 and phase == "lbfgs":
        return  # interrupted after the last iteration: DeepXDE would do another one
    model.train(iterations=left, display_every=1000, callbacks=[checkpointer], verbose=0)


def iterations_of(optimizer: Any) -> int:
    """Return the number of iterations of the L-BFGS optimizer of torch."""
    states = optimizer.state_dict()["state"]
    return int(states[0]["n_iter"]) if 0 in states else 0


def _keep_freed_memory() -> None:
    """Let the allocator keep freed memory: new pages for every tensor take a fifth of the time of a step."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    trim, mapped, huge = -1, -3, 1 << 30
    libc.mallopt(trim, huge)
    libc.mallopt(mapped, huge)
