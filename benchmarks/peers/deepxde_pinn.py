r"""Physics-informed neural networks of two sizes: tanh networks, min Σ mean r², by DeepXDE on PyTorch."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from benchmarks.peers.adapter import Outcome, Setting, Task, absent
from pibls.cases.case import Case

_PACKAGES = ("deepxde", "torch", "pibls")
_INSTALL = 'pip install "deepxde>=1.12" torch (the CPU build of torch is enough)'
_CAPS = {**dict.fromkeys(("TC-2", "TC-4", "TC-5", "TC-6"), 300.0), "TC-11": 120.0}
_CAP = 240.0
"""Training time limit of a capped PINN #2 in seconds, set by the available machine time."""
_LONGEST = 7200.0

_FAIR = (
    "DeepXDE's own model, losses, optimizers and training loop; number and rule of the points as for PIBLS. "
    "Inputs mapped to [-1, 1], Glorot normal, cosine decay of the learning rate, and the conditions weighted "
    "by the mean square of the source where that is above 1 (for PINN #1 a thirtieth of the error on TC-2). "
    "Sources, coefficients and data are evaluated once, not in every step; no derivative is taken at the "
    "points of the conditions where they are many; the allocator keeps its memory. Derivatives by reverse "
    "mode, which measured faster here than forward mode. Times are the processor's time of the one thread, "
    "so that what else the machine did is not held against it; the wall's time is recorded beside it."
)


class PINN1:
    """As many weights as PIBLS in three hidden layers, Adam, 5000 steps."""

    name = "pinn1"
    title = "PINN #1"
    packages = _PACKAGES
    install = _INSTALL
    fairness = _FAIR + (
        " Three hidden layers of the width that comes closest to the number of weights of PIBLS; on TC-1 and "
        "TC-2 two or four are no better. Learning rate 1e-2, which there beats 3e-3 and 1e-3 by up to ten "
        "(judged by the true error, a choice in its favour). "
        "float32, DeepXDE's default: on TC-1 Adam gains nothing from float64. On TC-9, with its 28 waves, it "
        "fails as in the paper; inputs left in [0, 8] or mapped to ±10 or ±30 did not help."
    )

    def missing(self) -> str | None:
        return absent(self.packages)

    def settings(self, case: Case) -> list[Setting]:
        layers = matching(len(case.problem.coordinates), case.published.settings["basis"].size)
        values = _values(case, layers, rate=1e-2, adam_steps=5000, lbfgs_steps=0)
        return [Setting("Adam 5000", values, table=True, slow=_slow(case), seeds=(0, 1, 2))]

    def run(self, task: Task) -> Outcome:
        return _run(task)


class PINN2:
    """10 × 50, Adam for 45,000 steps, then L-BFGS; at full length or capped."""

    name = "pinn2"
    title = "PINN #2"
    packages = _PACKAGES
    install = _INSTALL
    fairness = _FAIR + (
        " Learning rate 1e-3. Adam in float32, L-BFGS in float64, since in float32 it stalls after some "
        "hundred iterations; at most 5000 of them. A capped run gives two thirds of its time to Adam and the "
        "rest to L-BFGS."
    )

    def missing(self) -> str | None:
        return absent(self.packages)

    def settings(self, case: Case) -> list[Setting]:
        layers = [len(case.problem.coordinates), *[50] * 10, 1]
        steps = {"adam_steps": 45_000, "lbfgs_steps": 5_000, "lbfgs_float": "float64"}
        full = _values(case, layers, cap_seconds=_LONGEST, **steps)
        capped = _values(case, layers, cap_seconds=_CAPS.get(case.name, _CAP), adam_share=2 / 3, **steps)
        # The tables show a capped run only if there is no complete one.
        return [
            Setting("full", full, table=True, slow=True),
            Setting("capped", capped, table=True, slow=True),
        ]

    def run(self, task: Task) -> Outcome:
        return _run(task)


def matching(dimension: int, weights: int, depth: int = 3) -> list[int]:
    """Return the layer sizes with ``depth`` equal hidden layers and closest to this number of weights."""
    candidates = ([dimension, *[width] * depth, 1] for width in range(1, weights + 2))
    return min(candidates, key=lambda layers: abs(size(layers) - weights))


def size(layers: list[int]) -> int:
    """Return the number of weights and biases, Σ (n_i + 1) n_{i+1}."""
    return sum((a + 1) * b for a, b in pairwise(layers))


def _values(case: Case, layers: list[int], **chosen: Any) -> dict[str, Any]:
    """Return all choices, defaults included."""
    return {
        "layers": layers,
        "weights": size(layers),
        "points": repr(case.published.settings["points"]),
        "float": "float32",
        "rate": 1e-3,
        "decay": "cosine",
        "relative": True,
        "lbfgs_float": "float32",
        "adam_share": 1.0,
        "cap_seconds": None,
        **chosen,
    }


def _slow(case: Case) -> bool:
    """Whether the three seeds of PINN #1 take more than about a minute."""
    return len(case.problem.coordinates) > 1 or case.published.settings["points"].interior > 1500


def _run(task: Task) -> Outcome:
    # torch and DeepXDE are imported only here.
    from benchmarks.peers.deepxde_training import train

    return train(task)
