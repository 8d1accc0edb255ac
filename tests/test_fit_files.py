"""[[data]] and [fit] in problem files, CSV files, and the command `pibls fit`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import pibls
from pibls.cli.app import app
from pibls.io import read_problem

PROBLEM = """
equations = ["u_t = -k*u"]
domain = { t = [0, 2] }
conditions = [{ initial = "u", value = "a" }]

[parameters]
k = 1.0
a = 1.0
"""
DATA = """
[[data]]
file = "measured.csv"
of = "2*u"
points = { t = "hours" }
values = ["first", "second"]
sigma = "noise"
where = { dish = 7, hours = [0.1, 2] }
"""
FIT = """
[fit]
unknown = { k = [0, 10] }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    ts = np.linspace(0, 2, 21)
    rows = ["dish,hours,first,second,noise"]
    for dish in (6, 7):
        for s in ts:
            y = 2 * np.exp(-(dish / 5) * s) + 0.01 * rng.standard_normal(2)
            rows.append(f"{dish},{s},{y[0]},{y[1]},0.01")
    (tmp_path / "measured.csv").write_text("\n".join(rows))
    plain = [f"{s},{np.exp(-1.4 * s) + 0.01 * rng.standard_normal()}" for s in ts]
    (tmp_path / "plain.csv").write_text("\n".join(["t,u", *plain]))
    (tmp_path / "full.toml").write_text(PROBLEM + DATA + FIT)
    (tmp_path / "problem.toml").write_text(PROBLEM)
    return tmp_path


def test_problem_file_with_data_and_fit_tables(folder: Path) -> None:
    file = read_problem(folder / "full.toml")
    (entry,) = file.data
    data = entry.load(folder)
    assert len(data) == 2 * 20
    assert data.sigma is not None
    found = pibls.fit(file.problem, data, file.fit.unknown)
    (value,) = found.values.values()
    assert value == pytest.approx(1.4, abs=0.02)


def test_fit_command_writes_report_plot_and_solution(folder: Path) -> None:
    run = CliRunner().invoke(
        app,
        [
            "fit",
            str(folder / "full.toml"),
            "--picture",
            str(folder / "fit.svg"),
            "-o",
            str(folder / "u.pibls"),
        ],
    )
    assert run.exit_code == 0, run.output
    assert "k = 1.4" in run.output or "k = 1.39" in run.output
    assert "identifiable: yes" in run.output
    assert "solve   1: misfit" in run.output
    assert (folder / "fit.svg").read_text().count("<path") > 10
    assert pibls.load(folder / "u.pibls").problem.parameters


def test_columns_named_like_unknowns_need_no_data_table(folder: Path) -> None:
    arguments = ["fit", str(folder / "problem.toml"), "--data", str(folder / "plain.csv")]
    run = CliRunner().invoke(app, [*arguments, "-u", "k=0:5", "--unknown", "a=0:3", "--json"])
    assert run.exit_code == 0, run.output
    report = json.loads(run.stdout)
    assert report["values"]["k"] == pytest.approx(1.4, abs=4 * report["std"]["k"])
    assert report["identifiable"] is True
    without_bounds = CliRunner().invoke(app, [*arguments, "-u", "k"])
    assert without_bounds.exit_code == 0, without_bounds.output


def assert_rejected(folder: Path, text: str, message: str, *options: str) -> None:
    (folder / "invalid.toml").write_text(PROBLEM + text)
    run = CliRunner().invoke(app, ["fit", str(folder / "invalid.toml"), *options])
    assert run.exit_code == 2, run.output
    assert message in " ".join(run.output.split())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"first", "second"', '"third"'), "no column 'third'"),
        (("measured.csv", "missing.csv"), "a CSV file that can be read"),
        (("measured.csv", "../measured.csv"), "a path inside the folder"),
        (("dish = 7", "dish = 8"), "rows that satisfy where, got none"),
        (('points = { t = "hours" }', 'points = { x = "hours" }'), "a valid key"),
        (('of = "2*u"', 'of = "2*w"'), "data[1].of"),
        (('of = "2*u"', 'of = "__import__(1)"'), "data[1].of"),
        (('sigma = "noise"', "sigma = true"), "data[1].sigma: expected a number"),
        (('sigma = "noise"', "sigma = 0"), "expected positive numbers, got 0"),
        (("values =", "value ="), "a valid key"),
        (("k = [0, 10]", "k = 3"), "fit.unknown.k: expected [low, high]"),
        (("k = [0, 10]", "k = [10, 0]"), "fit.unknown.k: expected [minimum, maximum]"),
        (("k = [0, 10]", "q = [0, 10]"), "a parameter of the problem"),
        (("[0.1, 2]", "[0.1, 2, 3]"), "Write two numbers"),
    ],
)
def test_invalid_data_and_fit_tables_are_rejected(
    folder: Path, change: tuple[str, str], message: str
) -> None:
    assert change[0] in DATA + FIT
    assert_rejected(folder, (DATA + FIT).replace(*change), message)


def test_invalid_csv_files_are_rejected(folder: Path) -> None:
    for text, message in (
        ("t,u\n1,2,3\n", "line 2: expected 2 values, got 3"),
        ("t,u\n", "a line of names"),
        ("t,u\n0.5,\n1,2\n", "other values in 1 rows, first in line 2"),
        ("t,u\n0.5,nan\n1,2\n", "other values in 1 rows"),
        ("a,b\n1,2\n", "a column named like an unknown (u)"),
    ):
        (folder / "invalid.csv").write_text(text)
        assert_rejected(folder, FIT, message, "--data", str(folder / "invalid.csv"))
    assert_rejected(folder, FIT, "nor [[data]] in the problem file")
    assert_rejected(folder, DATA, "nor [fit] in the problem file")
    assert_rejected(folder, DATA, "NAME=LOW:HIGH", "-u", "k=1:2:3")
    assert_rejected(folder, DATA + FIT, "--picture", "--picture", "fit.doc")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--unknown", "k=a:b"], "--unknown: expected NAME=LOW:HIGH, two numbers with the smaller one first"),
        (["--unknown", "k=3:1"], "got 'k=3:1'. Write for example --unknown k=0.1:10."),
        (["--unknown", "k=1"], "got 'k=1'"),
        (["--unknown", "=1:2"], "got '=1:2'. Write for example --unknown D=0.1:10."),
        (["--unknown", "q=1:3"], "expected a parameter of the problem (k, a), got 'q'"),
        (["--picture", "no/such/folder/p.png"], "--picture: expected an existing folder"),
        (["--out", "no/such/folder/u.pibls"], "--out: expected an existing folder"),
        (["--picture", "p.gif"], "--picture: expected a file name ending in .png, .pdf or .svg"),
        (["--data", "missing.csv"], "got No such file or directory. Check the path."),
        (["--loss", "best"], "loss: expected one of linear"),
    ],
)
def test_invalid_options_are_rejected(folder: Path, options: list[str], message: str) -> None:
    assert_rejected(folder, FIT, message, "--data", str(folder / "plain.csv"), *options)


def test_points_outside_the_domain_and_too_few_values_are_rejected(folder: Path) -> None:
    (folder / "outside.csv").write_text("t,u\n0.5,0.6\n2.5,0.1\n3,0.1\n")
    message = "expected points in Interval(t, 0, 2), got 2 outside, the first at t = 2.5"
    assert_rejected(folder, FIT, message, "--data", str(folder / "outside.csv"))
    (folder / "few.csv").write_text("t,u\n0.5,0.6\n")
    message = "at least as many values as unknown parameters (1), and one more to estimate sigma, got 1"
    assert_rejected(folder, FIT, message, "--data", str(folder / "few.csv"))


def test_parameter_at_its_bound_is_reported_and_plotted(folder: Path) -> None:
    arguments = ["fit", str(folder / "problem.toml"), "--data", str(folder / "plain.csv"), "-u", "k=3:5"]
    run = CliRunner().invoke(app, [*arguments, "--picture", str(folder / "p.png")])
    assert run.exit_code == 0, run.output
    assert "at a bound: k" in run.output
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")
