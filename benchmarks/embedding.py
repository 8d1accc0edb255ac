r"""Embedding constants of the random feature map x ↦ z(x) (Lemma 1 of the paper).

For feature maps z of the broad basis on [-1, 1]^D, two constants that are positive exactly where the lemma
holds, against the number of feature nodes:

- immersion: min over x of σ_min(J_z(x)) / √M, the smallest singular value of the Jacobian, for M nodes;
- injectivity: min over pairs of |z(x) - z(y)| / (√M |x - y|).

Also the population value of the paper, √λ with λ = min over x of λ_min(E[φ'² W Wᵀ]), from many nodes. For a
strictly increasing activation such as tanh, D linearly independent weight vectors suffice, since z determines
x·w₁, …, x·w_D. A sine is not monotonic and needs more.

    python benchmarks/embedding.py            # measure (seconds) and draw
    python benchmarks/embedding.py --draw     # draw the stored results
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.measure import threads
from benchmarks.sensitivity import BLUE, GREY, ORANGE, paper_style
from pibls.arrays import Array

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs/data/embedding.json"
FIGURE = ROOT / "docs/figures/embedding.png"
DIMENSIONS = (1, 2, 3)
NODES = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256)
SCALE = 3.0
ACTIVATIONS = ("tanh", "sin")
SEEDS = range(20)
POPULATION_NODES = 20_000
_POINTS = 400


def sample_points(dimension: int) -> Array:
    """Return random points and the corners of [-1, 1]^D."""
    inside = np.random.default_rng(7).uniform(-1.0, 1.0, (_POINTS, dimension))
    corners = np.stack(np.meshgrid(*[[-1.0, 1.0]] * dimension), axis=-1).reshape(-1, dimension)
    return np.concatenate([inside, corners])


def constants(nodes: int, dimension: int, activation: str, seed: int) -> tuple[float, float]:
    """Return the constants (immersion, injectivity) of one random feature map."""
    box = np.array([[-1.0, 1.0]] * dimension)
    spec = pibls.Broad(1, nodes, scale=SCALE, activation=activation)
    basis = spec.draw(box, np.random.default_rng(seed))
    X = sample_points(dimension)
    unit = [tuple(int(i == j) for j in range(dimension)) for i in range(dimension)]
    z, *slopes = basis.jets(X, [(0,) * dimension, *unit])
    J = np.stack(slopes, axis=-1)  # (points, nodes, D)
    # With fewer nodes than dimensions J is rank deficient: the constant is zero.
    immersion = 0.0 if nodes < dimension else float(np.linalg.svd(J, compute_uv=False)[:, -1].min())
    return _rounded(immersion / nodes**0.5), _rounded(_injectivity(np.asarray(z), X) / nodes**0.5)


def _rounded(value: float) -> float:
    """Round to four significant digits."""
    return float(f"{value:.4g}")


def _injectivity(z: Array, X: Array) -> float:
    """Return min |z(x) - z(y)| / |x - y| over all pairs."""

    def squares(A: Array) -> Array:
        return np.asarray(np.sum((A[:, None, :] - A[None, :, :]) ** 2, axis=-1))

    least = np.inf
    distances = squares(X)
    for start in range(0, len(X), 50):
        part = np.sum((z[start : start + 50, None, :] - z[None, :, :]) ** 2, axis=-1)
        apart = distances[start : start + 50]
        keep = apart > 0
        least = min(least, float(np.sqrt(np.min(part[keep] / apart[keep]))))
    return least


def measure(
    dimensions: Sequence[int] = DIMENSIONS, nodes: Sequence[int] = NODES, seeds: Sequence[int] = SEEDS
) -> dict[str, Any]:
    """Return both constants of every random map, and the population value."""
    found: dict[str, Any] = {"scale": SCALE, "nodes": list(nodes), "seeds": len(seeds), "maps": {}}
    for activation in ACTIVATIONS:
        for d in dimensions:
            runs = [[constants(n, d, activation, s) for s in seeds] for n in nodes]
            found["maps"][f"{activation}, D = {d}"] = {
                "runs": runs,
                "population": population(d, activation),
            }
    return found


def population(dimension: int, activation: str, nodes: int = POPULATION_NODES) -> float:
    """Return √λ of the paper's proof: the immersion constant for very many nodes."""
    box = np.array([[-1.0, 1.0]] * dimension)
    basis = pibls.Broad(1, nodes, scale=SCALE, activation=activation).draw(box, np.random.default_rng(1))
    least = np.inf
    unit = [tuple(int(i == j) for j in range(dimension)) for i in range(dimension)]
    corners = sample_points(dimension)[_POINTS:]
    for x in [*sample_points(dimension)[:20], *corners]:
        J = np.stack([s[0] for s in basis.jets(x[None, :], unit)], axis=-1)
        least = min(least, float(np.linalg.svd(J, compute_uv=False)[-1]))
    return _rounded(least / nodes**0.5)


def draw(data: Mapping[str, Any], path: Path) -> None:
    """Draw one panel per dimension and activation: constants against nodes, one dot per random map."""
    plt = paper_style()
    names = list(data["maps"])
    columns = len(names) // len(ACTIVATIONS)
    figure, axes = plt.subplots(
        len(ACTIVATIONS), columns, figsize=(3.3 * columns, 5.6), layout="constrained", squeeze=False,
        sharex=True, sharey=True,
    )  # fmt: skip
    looks = ((0, "immersion: $\\min\\,\\sigma_{\\min}(J_z)/\\sqrt{M}$", BLUE, "o"),
             (1, "injectivity: $\\min\\,|z(x)-z(y)|\\,/\\,(\\sqrt{M}\\,|x-y|)$", ORANGE, "s"))  # fmt: skip
    for ax, name in zip(axes.flat, names):
        values = np.array(data["maps"][name]["runs"])  # (nodes, seeds, 2)
        for index, label, colour, marker in looks:
            v = np.maximum(values[:, :, index], 1e-7)
            ax.plot(np.repeat(data["nodes"], v.shape[1]), v.ravel(), ".", color=colour, alpha=0.25, ms=3)
            ax.plot(data["nodes"], np.median(v, axis=1), color=colour, marker=marker, label=label)
        ax.axhline(data["maps"][name]["population"], color=GREY, linestyle=":", label=r"$\sqrt{\lambda}$")
        ax.set(xscale="log", yscale="log", title=name)
        ax.xaxis.set_major_formatter("{x:.0f}")
    for ax in axes[-1]:
        ax.set_xlabel("feature nodes $M$")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)
    plt.close(figure)


def main(arguments: Sequence[str]) -> None:
    if "--draw" not in arguments:
        DATA.write_text(json.dumps(measure()) + "\n")
    draw(json.loads(DATA.read_text()), FIGURE)
    print(f"drawn in {FIGURE.relative_to(ROOT)}")


if __name__ == "__main__":
    with threads(1):
        main(sys.argv[1:])
