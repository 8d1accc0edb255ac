"""Algorithm 2 where the sensitivity study takes it: far fewer points than nodes."""

from __future__ import annotations

import pibls


def test_algorithm_2_with_fewer_rows_than_columns() -> None:
    """The triangle of a flat matrix is flat too; its QR failed once."""
    case = pibls.cases["TC-10"]
    basis = pibls.Broad(4, 10, 2, 10, scale=3.0)
    points = pibls.Points(40, 0, 1)
    solution = pibls.solve(case.problem, basis=basis, points=points, method=pibls.NLSQPerturb())
    assert basis.size > 42
    assert solution.status is pibls.Status.SOLVED
    assert abs(solution(1.0) - case.exact(1.0)) < 1e-5
