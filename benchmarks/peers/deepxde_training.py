"""min_θ Σ mean r², by Adam and then L-BFGS of DeepXDE; kept on disk, so that it can be interrupted.

The last state stays where it is: whoever has stored the outcome removes it."""

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
from benchmarks.peers.deepxde_problem import normalised, posed, weights_of
from pibls.geometry import box_of

FILE = "checkpoint.pt"
_STEPS_BETWEEN = 500
_SECONDS_BETWEEN = 20.0
_STRIDE = 50
"""Iterations of L-BFGS between two looks at the clock."""

State = dict[str, Any]


class Keeper(dde.callbacks.Callback):
    """Writes network, optimizer, step and seconds to disk now and then, and ends a phase at its limit.

    The seconds go on from those of the interrupted run.
    """

    def __init__(self, path: Path, key: str, earlier: State, clock: Callable[[], float]) -> None:
        super().__init__()
        self.path, self.key, self.clock = path, key, clock
        self.began, self.wall_began = clock(), time.perf_counter()
        self.before, self.wall_before = earlier.get("seconds", 0.0), earlier.get("wall_seconds", 0.0)
        self.phase = "adam"
        self.steps: dict[str, int] = dict(earlier.get("steps", {"adam": 0, "lbfgs": 0}))
        self.limit = math.inf
        self.ended_by_limit = False
        self._kept = (0, 0.0)

    def seconds(self) -> float:
        return float(self.before + self.clock() - self.began)

    def wall_seconds(self) -> float:
        return float(self.wall_before + time.perf_counter() - self.wall_began)

    def enter(self, phase: str, limit: float) -> None:
        """A phase begins or goes on; ``limit`` counts the seconds of all phases and runs."""
        self.phase, self.limit, self.ended_by_limit = phase, limit, False
        self._kept = (self.steps[phase], time.perf_counter())

    def on_epoch_end(self) -> None:
        self._count(1)
        if self.seconds() >= self.limit:
            self.ended_by_limit = self.model.stop_training = True
        step, moment = self._kept
        if (
            self.steps[self.phase] - step >= _STEPS_BETWEEN
            or time.perf_counter() - moment >= _SECONDS_BETWEEN
        ):
            self.keep()

    def on_train_end(self) -> None:
        # DeepXDE leaves a converged L-BFGS without an on_epoch_end.
        self._count(0)
        self.keep()

    def _count(self, more: int) -> None:
        if self.phase == "adam":
            self.steps["adam"] += more
        else:
            self.steps["lbfgs"] = iterations_of(self.model.opt)

    def keep(self) -> None:
        """Write beside the file and move over it: an interruption leaves the old one or the new one."""
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
        beside = self.path.with_suffix(".tmp")
        torch.save(state, beside)
        os.replace(beside, self.path)


def earlier(path: Path, key: str) -> State:
    """What an interrupted run of the same setting and seed left behind; nothing if there is none."""
    if not path.exists():
        return {}
    state: State = torch.load(path, weights_only=True)
    return state if state["key"] == key else {}


def trained(task: Task) -> Outcome:
    """Train as the setting says, from where an interrupted run left off."""
    values = task.setting.values
    torch.set_num_threads(task.threads)
    _keep_memory()
    # On one thread, the processor's time is the wall's on a machine that does nothing else.
    clock = time.process_time if task.threads == 1 else time.perf_counter
    key = json.dumps([task.case.name, dict(values), task.seed], sort_keys=True)
    state = earlier(task.scratch / FILE, key)
    keeper = Keeper(task.scratch / FILE, key, state, clock)
    model = _model(task, values["float"])
    if state:
        # The set-up was counted by the run that was interrupted.
        keeper.began, keeper.wall_began = clock(), time.perf_counter()
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
            model = _in(task, model, values["lbfgs_float"])
        _phase(model, keeper, phase, steps, limit, values, resumed)
        capped |= keeper.ended_by_limit
    seconds, wall = keeper.seconds(), keeper.wall_seconds()
    predicted = model.predict(task.points)[:, 0]
    losses = model.train_state.loss_train
    facts = {
        "weights": model.net.num_trainable_parameters(),
        "adam_steps": keeper.steps["adam"],
        "lbfgs_iterations": keeper.steps["lbfgs"],
        "loss": None if losses is None else float(losses.sum()),
        "loss_weights": [round(w, 3) for w in model.loss_weights],
        "wall_seconds": wall,
    }
    return Outcome(predicted, seconds, facts=facts, note=_note(values, keeper.steps, capped), capped=capped)


def _note(values: Mapping[str, Any], steps: Mapping[str, int], capped: bool) -> str:
    if not capped:
        return ""
    note = f"capped at {values['cap_seconds']:g} s, Adam step {steps['adam']:,} of {values['adam_steps']:,}"
    return note + (f", then {steps['lbfgs']:,} iterations of L-BFGS" if values["lbfgs_steps"] else "")


def _model(task: Task, kind: str) -> Any:
    """Network and problem, in float32 or float64."""
    _set_float(kind)
    dde.config.set_random_seed(task.seed)
    net = dde.nn.FNN(list(task.setting.values["layers"]), "tanh", "Glorot normal")
    return _posed(task, net)


def _in(task: Task, model: Any, kind: str) -> Any:
    """The same network with its problem in another precision."""
    if dde.config.default_float() == kind:
        return model
    _set_float(kind)
    return _posed(task, model.net.to(dde.config.real(torch)))


def _posed(task: Task, net: Any) -> Any:
    problem = task.case.problem
    normalised(net, box_of(problem.domain))
    return dde.Model(posed(problem, task.case.published.settings["points"], net, task.seed), net)


def _set_float(kind: str) -> None:
    if dde.config.default_float() != kind:
        dde.config.set_default_float(kind)


def _phase(
    model: Any, keeper: Keeper, phase: str, steps: int, limit: float, values: Mapping[str, Any], state: State
) -> None:
    """Adam or L-BFGS, for what is left of its steps and seconds."""
    weights = weights_of(model.data, values["relative"])
    if phase == "adam":
        decay = ("cosine", steps, 0.0) if values["decay"] == "cosine" else None
        model.compile("adam", lr=values["rate"], decay=decay, loss_weights=weights, verbose=0)
    else:
        stride = min(_STRIDE, steps)
        # DeepXDE's own tolerances; the stride has no setter.
        LBFGS_options.update(maxiter=steps, iter_per_step=stride, fun_per_step=5 * stride // 4)
        model.compile("L-BFGS", loss_weights=weights, verbose=0)
    if state:
        model.net.load_state_dict(state["net"])
        model.opt.load_state_dict(state["optimizer"])
        if state["schedule"] is not None:
            model.lr_scheduler.load_state_dict(state["schedule"])
    keeper.enter(phase, limit)
    left = steps - keeper.steps[phase]
    if left <= 0 and phase == "lbfgs":
        return  # interrupted after its last iteration; DeepXDE would go round once more
    model.train(iterations=left, display_every=1000, callbacks=[keeper], verbose=0)


def iterations_of(optimizer: Any) -> int:
    """How many iterations torch's L-BFGS has made."""
    states = optimizer.state_dict()["state"]
    return int(states[0]["n_iter"]) if 0 in states else 0


def _keep_memory() -> None:
    """Let the allocator keep what it has: fresh pages for every tensor cost a fifth of a step."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    trim, mapped, huge = -1, -3, 1 << 30
    libc.mallopt(trim, huge)
    libc.mallopt(mapped, huge)
