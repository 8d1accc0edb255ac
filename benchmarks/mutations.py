"""What `benchmarks.mutants` changes: lines of the core by their text, thresholds by themselves.

A line is found wherever it stands in `src/pibls`, so that the list survives moves; it must stand there
exactly once. One that is not found any more is reported, and its entry here is to be renewed.
"""
# ruff: noqa: E501

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LINES: tuple[tuple[str, str, str], ...] = (
    # name, text, instead
    ("a normal points inwards", "= 1.0 if self.side != self.flip else -1.0", "= -1.0 if self.side != self.flip else 1.0"),
    ("derivatives of waves forget the width", "return self.frequencies / self.half[:, None]", "return self.frequencies"),
    ("a sign of the third derivative", "return factor if order in (0, 3) else negative, factor", "return factor if order in (0,) else negative, factor"),
    ("sine without its cubic term", "q *= 1.0 / 6.0", "q *= 0.0"),
    ("cosine without its quartic term", "np.multiply(z, 1.0 / 24.0, out=q)", "np.multiply(z, 0.0, out=q)"),
    ("features without biases", "s += self.biases", "s += 0.0 * self.biases"),
    ("the constant part is left out", "r += self.constant", "r += 0.0 * self.constant"),
    ("the sign of the data", "return self.linear, -self.constant", "return self.linear, self.constant"),
    ("Newton forgets where it is", "block.points.summed(np.sum(partials * jets, axis=0)) - block.rest", "-block.rest"),
    ("no step of refinement", "w = w + factors.apply(b - J @ w)", "w = w + 0.0 * w"),
    ("a ridge for columns of length one", "cond * np.sqrt(m) * norms(B, 0)", "cond * np.sqrt(m)"),
    ("no ridge", "cond * np.sqrt(m) * norms(B, 0)", "0.0 * norms(B, 0)"),
    ("rounding near a resonance is forgotten", "_EPS * factors.influence(np.array(least_determined), system.term_magnitudes(w))", "0.0 * factors.influence(np.array(least_determined), system.term_magnitudes(w))"),
    ("a family of solutions is not noticed", "return other.conditioning.coercivity < zero_coercivity", "return False"),
    ("a step is never halved", "step *= 0.5\n    return w, system.residual(w), loss", "step *= 1.0\n    return w, system.residual(w), loss"),
    ("a stalled descent is a solution", "if status is Status.SOLVED and relative > _SOLVED:", "if False:"),
    ("the radius never shrinks", "radius = 0.25 * length", "radius = 1.0 * radius"),
    ("the estimate has no safety", "safety * largest + rounding_error", "largest"),
    ("the mean error instead of the largest", "largest = float(np.abs(d).max(initial=0.0))", "largest = float(np.abs(d).mean())"),
    ("residuals are relative to nothing", "np.abs(self.values) / np.where(self.term_sizes > 0, self.term_sizes, 1.0)", "np.abs(self.values)"),
    ("everything is linear", "return all(not r.nonlinear for r in self.residuals)", "return True"),
    ("the scale does not grow with the width", "return float(low + (high - low) * (nodes**root", "return float(low + 0.0 * (nodes**root"),
    ("points without a shift", "(_unshifted(n, d) ^ shift)", "_unshifted(n, d)"),
    ("the interruption is forgotten", "self.status = Status.INTERRUPTED", "pass"),
    ("a checksum that is not compared", "if digest.digest() != body[-_DIGEST:]:", "if False:"),
    ("a window is taken without its tail in space", "wide <= asked.tail and between <= asked.residual:\n                if layered", "between <= asked.residual:\n                if layered"),
    ("a source on a plane has the wrong sign", "below - above - s[:, rows].sum(axis=1)", "below - above + s[:, rows].sum(axis=1)"),
    ("a flux is taken from the other side", "(_OFFSET if upper else -_OFFSET)", "(-_OFFSET if upper else _OFFSET)"),
    ("only values are continuous across faces", "for order in range(most)}", "for order in range(min(most, 1))}"),
    ("odd functions see what even ones see", "self.odd.apply(0.5 * (places - images))", "self.odd.apply(0.5 * (places + images))"),
    ("equations that change their sign at an image do not", "constants.append(sign * np.asarray(known.rest))", "constants.append(np.asarray(known.rest))"),
    ("any place is its own image", "return sign\n    return 0.0", "return sign\n    return 1.0"),
    ("nobody asks for the time", "if check is not None:\n        check(step)", "if False:\n        check(step)"),
    ("a missing condition is not looked for", "and second.conditioning.coercivity < thresholds.max_coercivity_decay * usual", "and False"),
    ("the second solution in the same windows", "edges = [group[0].start, *(0.5 * (x.start + x.stop) for x in group), window.stop]", "edges = [x.start for x in group] + [window.stop, window.stop]"),
    ("the power binds like a product", "if steepness > MAX_EXPONENT:", "if False:"),
)  # fmt: skip

THRESHOLDS = ("adaptive/thresholds/", "analysis/thresholds.py")
FACTORS = (1e3, 1e-3)


@dataclass(frozen=True)
class Mutant:
    """One change: in this file, from here to there, this text."""

    name: str
    file: str
    start: int
    end: int
    text: str

    def applied(self, source: str) -> str:
        """The source with the change."""
        return source[: self.start] + self.text + source[self.end :]


def mutants(root: Path) -> tuple[list[Mutant], list[str]]:
    """All changes to the package below ``root``, and the names of those whose line is not there (once)."""
    sources = {str(p.relative_to(root)): p.read_text(encoding="utf-8") for p in sorted(root.rglob("*.py"))}
    found, lost = [], []
    for name, old, new in LINES:
        places = [(f, s.index(old)) for f, s in sources.items() for _ in range(s.count(old))]
        if len(places) == 1:
            file, at = places[0]
            found.append(Mutant(name, file, at, at + len(old), new))
        else:
            lost.append(f"{name} ({len(places)} times)")
    for file in (f for f in sources if f.startswith(THRESHOLDS)):
        found += thresholds(file, sources[file])
    return found, lost


def thresholds(file: str, source: str) -> Iterator[Mutant]:
    """Every number that is the default of a field or the value of a constant, a thousand times more and less."""
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
    if isinstance(value, int):  # stays a whole number, and does not become zero: it may be a count
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
