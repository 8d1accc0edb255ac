"""The mutants of `benchmarks.mutants`: changed lines of code, and changed thresholds.

A line is searched in all of `src/pibls`, so that entries survive moves, and must occur exactly once. Entries
whose line is not found are reported and must be updated.
"""
# ruff: noqa: E501

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LINES: tuple[tuple[str, str, str], ...] = (
    # name, original text, replacement
    ("normal points inwards", "= 1.0 if self.side != self.flip else -1.0", "= -1.0 if self.side != self.flip else 1.0"),
    ("derivatives of Fourier features without the width of the box", "return self.frequencies / self.half[:, None]", "return self.frequencies"),
    ("wrong sign of the third derivative", "return factor if order in (0, 3) else negative, factor", "return factor if order in (0,) else negative, factor"),
    ("sine without its cubic term", "q *= 1.0 / 6.0", "q *= 0.0"),
    ("cosine without its quartic term", "np.multiply(z, 1.0 / 24.0, out=q)", "np.multiply(z, 0.0, out=q)"),
    ("features without biases", "s += self.biases", "s += 0.0 * self.biases"),
    ("residual without its constant part", "r += self.constant", "r += 0.0 * self.constant"),
    ("wrong sign of the data", "return self.linear, -self.constant", "return self.linear, self.constant"),
    ("Newton system linearised at zero", "block.points.summed(np.sum(partials * derivatives, axis=0)) - block.rest", "-block.rest"),
    ("no iterative refinement", "w = w + factors.apply(b - J @ w)", "w = w + 0.0 * w"),
    ("ridge not scaled by the column norms", "cond * np.sqrt(m) * norms(B, 0)", "cond * np.sqrt(m)"),
    ("no ridge", "cond * np.sqrt(m) * norms(B, 0)", "0.0 * norms(B, 0)"),
    ("rounding error near a resonance ignored", "_EPS * factors.influence(np.array(least_determined), system.term_magnitudes(w))", "0.0 * factors.influence(np.array(least_determined), system.term_magnitudes(w))"),
    ("family of solutions not detected", "return other.conditioning.stability_constant < zero_stability", "return False"),
    ("step never halved", "step *= 0.5\n    return w, system.residual(w), loss", "step *= 1.0\n    return w, system.residual(w), loss"),
    ("stalled descent accepted as solution", "is_far = iteration.relative > _MAX_SOLVED_RESIDUAL", "is_far = False"),
    ("trust radius never reduced", "return 0.25 * self.length", "return radius"),
    ("error estimate without safety factor", "safety * largest + rounding_error", "largest"),
    ("mean error in place of the maximum", "largest = float(np.abs(d).max(initial=0.0))", "largest = float(np.abs(d).mean())"),
    ("residuals not scaled", "np.abs(self.values) / np.where(self.term_sizes > 0, self.term_sizes, 1.0)", "np.abs(self.values)"),
    ("every problem is linear", "return all(not r.nonlinear for r in self.residuals)", "return True"),
    ("scale independent of the width", "return float(low + (high - low) * (nodes**root", "return float(low + 0.0 * (nodes**root"),
    ("Sobol points without random shift", "(_sobol_integers(n, d) ^ shift)", "_sobol_integers(n, d)"),
    ("status of an interruption not set", "self.status = Status.INTERRUPTED", "pass"),
    ("checksum not compared", "if digest.digest() != body[-_DIGEST:]:", "if False:"),
    ("window accepted without its spectral tail in space", "return self._tails_are_within(allowed) and self.residual <= allowed.residual", "return self.time_tail <= allowed.spectral_tail and self.residual <= allowed.residual"),
    ("wrong sign of a source on a plane", "below - above - s[:, rows].sum(axis=1)", "below - above + s[:, rows].sum(axis=1)"),
    ("flux taken from the wrong side", "(_OFFSET if upper else -_OFFSET)", "(-_OFFSET if upper else _OFFSET)"),
    ("only values continuous across faces", "for k, most in enumerate(orders) for order in range(most))", "for k, most in enumerate(orders) for order in range(min(most, 1)))"),
    ("odd part computed as even part", "self.odd.apply(0.5 * (direct - images))", "self.odd.apply(0.5 * (direct + images))"),
    ("mirrored equations without their sign", "constants.append(sign * np.asarray(known.rest))", "constants.append(np.asarray(known.rest))"),
    ("every point treated as mirror image", "return sign\n    return 0.0", "return sign\n    return 1.0"),
    ("deadline not checked", "if check is not None:\n        check(step)", "if False:\n        check(step)"),
    ("missing condition not detected", "and second.conditioning.stability_constant < thresholds.max_stability_decay * usual", "and False"),
    ("companion solution with the same windows", "edges = [group[0].start, *(0.5 * (x.start + x.stop) for x in group), window.stop]", "edges = [x.start for x in group] + [window.stop, window.stop]"),
    ("no limit of the exponent of a power", "if magnitude > MAX_EXPONENT:", "if False:"),
)  # fmt: skip

THRESHOLDS = ("adaptive/thresholds/", "analysis/thresholds.py", "time/thresholds.py")
FACTORS = (1e3, 1e-3)


@dataclass(frozen=True)
class Mutant:
    """A change of one file: ``text`` replaces the characters from ``start`` to ``end``."""

    name: str
    file: str
    start: int
    end: int
    text: str

    def applied(self, source: str) -> str:
        """Return the source with the change."""
        return source[: self.start] + self.text + source[self.end :]


def mutants(root: Path) -> tuple[list[Mutant], list[str]]:
    """Return all mutants of the package in ``root``, and the names of entries not found exactly once."""
    sources = {str(p.relative_to(root)): p.read_text(encoding="utf-8") for p in sorted(root.rglob("*.py"))}
    found, lost = [], []
    for name, old, new in LINES:
        occurrences = [(f, s.index(old)) for f, s in sources.items() for _ in range(s.count(old))]
        if len(occurrences) == 1:
            file, at = occurrences[0]
            found.append(Mutant(name, file, at, at + len(old), new))
        else:
            lost.append(f"{name} ({len(occurrences)} times)")
    for file in (f for f in sources if f.startswith(THRESHOLDS)):
        found += thresholds(file, sources[file])
    return found, lost


def thresholds(file: str, source: str) -> Iterator[Mutant]:
    """Yield mutants of every threshold field and constant, larger and smaller by a factor of 1000."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for name, node in _numbers(ast.parse(source)):
        first = starts[node.lineno - 1] + node.col_offset
        last = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        at, end = (len(source.encode()[:k].decode()) for k in (first, last))
        for factor in FACTORS:
            new = _changed(node.value, factor)
            if new != node.value:
                yield Mutant(f"{name} = {new:g}", file, at, end, repr(new))


def _changed(value: object, factor: float) -> float:
    if isinstance(value, int):  # a count: stays an integer and positive
        return max(1, round(value * float(factor**0.5)))
    assert isinstance(value, float)
    return float(f"{value * factor:.6g}")


def _numbers(tree: ast.Module) -> Iterator[tuple[str, ast.Constant]]:
    bodies = [
        tree.body,
        *(c.body for c in tree.body if isinstance(c, ast.ClassDef) and c.name.endswith("Thresholds")),
    ]
    for body in bodies:
        for node in body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
                pairs = [(node.target.id, node.value)]
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                pairs = [(node.targets[0].id, node.value)]
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
                names = [t.id for t in node.targets[0].elts if isinstance(t, ast.Name)]
                values = node.value.elts if isinstance(node.value, ast.Tuple) else []
                pairs = list(zip(names, values, strict=False))
            else:
                continue
            in_class = body is not tree.body
            for name, value in pairs:
                if not (in_class or name.isupper()):
                    continue
                parts = value.elts if isinstance(value, ast.Tuple) else [value]
                for i, part in enumerate(parts):
                    if isinstance(part, ast.Constant) and type(part.value) in (int, float) and part.value:
                        yield f"{name}{f'[{i}]' if len(parts) > 1 else ''}", part
