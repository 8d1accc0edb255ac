"""The commands of the command line: solve, fit, check, new, show, sweep, case and cases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pibls.cli.common import (
    exit_by_status,
    output_targets,
    read_problem_file,
    solution_path,
    solve_silently,
    write_sketch,
)
from pibls.cli.exits import (
    Exit,
    UsageError,
    did_you_mean,
    err,
    exit_with,
    fail,
    out,
    print_json,
    report_errors,
)


class Commands(TyperGroup):
    """Command group that suggests the nearest valid name for an unknown command."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            fail(f"unknown command: {args[0]}.{did_you_mean(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="""Solve differential equations from problem files.

\b
    pibls new poisson > problem.toml     write a commented template
    pibls check problem.toml             show how the file is understood
    pibls solve problem.toml             solve it, save the solution, print a summary

\b
Exit codes: 0 solved to the tolerance; 1 tolerance not reached (the solution is saved all the same);
2 error in the input or output; 130 interrupted, 143 terminated by SIGTERM (the best solution so far is
saved).
""",
)

ProblemPath = Annotated[Path, typer.Argument(help="A problem file (TOML).", show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one line of JSON instead of text.")]
PictureOption = Annotated[
    Path | None, typer.Option(help="Save a plot to this file (png, pdf, svg; gif or mp4 for an animation).")
]
TolOption = Annotated[float | None, typer.Option(help="Tolerance: maximum error relative to max|u|.")]
SeedOption = Annotated[
    int | None, typer.Option(help="Seed of the random numbers; the same seed gives the same result.")
]
NodesOption = Annotated[int | None, typer.Option(help="Maximum number of basis functions.")]
TimeOption = Annotated[
    float | None, typer.Option(help="Time limit in seconds; usually exceeded by at most 30 %.")
]
ParamOption = Annotated[
    list[str] | None,
    typer.Option("--param", "-p", help="NAME=VALUE, overrides the value in the file (repeatable)."),
]


def _version(requested: bool) -> None:
    if requested:
        from pibls._version import __version__

        typer.echo(f"pibls {__version__}")
        exit_with(Exit.CONVERGED)


@app.callback()
def main_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def _kinds() -> list[str]:
    from pibls.io.templates import kinds

    return list(kinds())


def _case_names() -> list[str]:
    import pibls

    return list(pibls.cases)


@app.command()
def solve(
    problem: ProblemPath,
    tol: TolOption = None,
    seed: SeedOption = None,
    max_nodes: NodesOption = None,
    time_limit: TimeOption = None,
    param: ParamOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Save the solution to this file.", show_default="NAME.pibls"),
    ] = None,
    picture: PictureOption = None,
    workers: Annotated[
        int | None, typer.Option(help="Number of processes that share the cells.", show_default=False)
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler whose workers share the cells.")
    ] = None,
    json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print neither progress nor summary.")] = False,
) -> None:
    """Solve a problem file, print a summary and save the solution.

    \b
    pibls solve problem.toml --tol 1e-8 --out heat.pibls --picture heat.png
    pibls solve problem.toml --json | jq .error.max
    pibls solve problem.toml --workers 4
    """
    from pibls.cli.dask_client import dask_client
    from pibls.cli.output_files import check_targets, write_outputs
    from pibls.cli.reports import solution_facts

    no_solution = "interrupted before a first solution was found: nothing was saved"
    with report_errors(also_json=json, interrupted=no_solution):
        file = read_problem_file(problem, param)
        saved = output or solution_path(problem, file)
        targets = output_targets(file, saved.parent, picture)
        check_targets({"--out": saved, **targets}, file.problem)
        given = {"tol": tol, "seed": seed, "max_nodes": max_nodes, "time_limit": time_limit}
        settings = {**file.settings, **{k: v for k, v in given.items() if v is not None}}
        with dask_client(workers, scheduler) as engine:
            shown = not (json or quiet) and err.is_terminal
            solution = solve_silently(file.problem, progress=shown, engine=engine, **settings)
        # Save the solution first, so that it is kept if a plot or a table fails.
        written, problems = [solution.save(saved)], list[str]()
        if targets:
            more, problems = write_outputs(solution, targets, file.title)
            written += more
        if json:
            wrong = {"error": "; ".join(problems)} if problems else {}
            print_json({**solution_facts(solution), "written": [str(p) for p in written], **wrong})
        elif not quiet:
            out.print(solution.summary(), markup=False)
            for path in written:
                out.print(f"written: {path}", markup=False)
    if problems:
        fail("; ".join(problems))
    exit_by_status(solution, "the best solution so far was saved")


@app.command()
def fit(
    problem: ProblemPath,
    data: Annotated[Path | None, typer.Option(help="CSV file, overrides the file named in [[data]].")] = None,
    unknown: Annotated[
        list[str] | None, typer.Option("--unknown", "-u", help="NAME=LOW:HIGH, overrides [fit] (repeatable).")
    ] = None,
    param: ParamOption = None,
    tol: TolOption = None,
    loss: Annotated[
        str | None, typer.Option(help="Loss function: linear, or soft_l1, huber, … for data with outliers.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--out", "-o", help="Save the solution to this file.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Save a plot of data, fit and confidence band (png, pdf, svg).")
    ] = None,
    json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print neither progress nor report.")] = False,
) -> None:
    """Fit parameters to measured data and print a report.

    \b
    pibls fit problem.toml --data cells.csv
    pibls fit problem.toml --data cells.csv --unknown D=100:3000 --picture cells.png
    """
    import pibls
    from pibls.cli.fit_command import (
        check_fit_targets,
        fit_facts,
        fit_parameters,
        progress_printer,
        read_data,
        write_fit,
    )

    with report_errors(also_json=json, interrupted="interrupted before the fit converged: nothing was saved"):
        file = read_problem_file(problem, param)
        check_fit_targets(output, picture)
        settings: dict[str, Any] = {**file.fit.settings, "seed": file.seed}
        settings.update({k: v for k, v in {"tol": tol, "loss": loss}.items() if v is not None})
        report = (
            None
            if json or quiet
            else progress_printer(lambda line: err.print(line, markup=False, highlight=False))
        )
        found = pibls.fit(
            file.problem,
            read_data(file, problem.parent, data),
            fit_parameters(file, unknown or []),
            callback=report,
            **settings,
        )
        written = write_fit(found, output, picture)
        if json:
            print_json({**fit_facts(found), "written": [str(p) for p in written]})
        elif not quiet:
            out.print(found.summary(), markup=False, highlight=False)
            for path in written:
                out.print(f"written: {path}", markup=False)
    exit_with(Exit.CONVERGED if found.converged and found.identifiable else Exit.NOT_CONVERGED)


@app.command()
def check(
    problem: ProblemPath,
    param: ParamOption = None,
    picture: Annotated[
        Path | None, typer.Option(help="Save a sketch of the domain to this file (svg).")
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Show the analysis too: type, well-posedness, corners, interfaces."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show the unknowns, orders and conditions of a problem file.

    The exit code is 2 if conditions are missing, so that the problem is underdetermined.

    \b
    pibls check problem.toml
    pibls check problem.toml --verbose
    pibls check problem.toml --picture domain.svg
    """
    from pibls.cli.reports import check_table, problem_facts

    with report_errors(also_json=json):
        if picture is not None and picture.suffix.lower() != ".svg":
            raise UsageError(f"--picture: expected a file name ending in .svg, got {picture}. Rename it.")
        file = read_problem_file(problem, param)
        facts = problem_facts(file.problem)
        if verbose:
            facts["analysis"] = file.problem.analysis.facts()
        if picture is not None:
            write_sketch(file, picture)
        if json:
            print_json({"title": file.title, **facts})
        else:
            out.print(check_table(facts, file.title))
        if facts["missing_conditions"]:
            missing = "; ".join(facts["missing_conditions"])
            raise UsageError(f"conditions: the problem is underdetermined, missing {missing}. Add them.")


@app.command()
def new(
    kind: Annotated[
        str | None,
        typer.Argument(help="Kind of problem; omit it to list the kinds.", autocompletion=_kinds),
    ] = None,
) -> None:
    """Print a commented template of a problem file.

    \b
    pibls new                          list the kinds of problems
    pibls new heat > problem.toml
    """
    from pibls.io.templates import summary, template

    if kind is None:
        for name in _kinds():
            typer.echo(f"{name:20s} {summary(name)}")
        return
    with report_errors():
        typer.echo(template(kind), nl=False)


@app.command()
def show(
    solution: Annotated[Path, typer.Argument(help="A saved solution (.pibls).", show_default=False)],
    picture: PictureOption = None,
    at: Annotated[list[str] | None, typer.Option(help="Print the value at x=0.5,y=0.2 (repeatable).")] = None,
    json: JsonOption = False,
) -> None:
    """Print the summary or values of a saved solution, or plot it.

    \b
    pibls show heat.pibls --picture heat.png
    pibls show heat.pibls --at x=0.5,t=0.1
    """
    import pibls
    from pibls.cli.output_files import check_targets, draw
    from pibls.cli.reports import solution_facts
    from pibls.cli.values import values_at, values_text

    with report_errors(also_json=json):
        loaded = pibls.load(solution)
        targets = {"--picture": picture} if picture is not None else {}
        check_targets(targets, loaded.problem)
        found = [values_at(loaded, text) for text in at or []]
        if json:
            print_json({**solution_facts(loaded), "values": found})
        elif found:
            for entry in found:
                out.print(values_text(entry), markup=False)
        else:
            out.print(loaded.summary(), markup=False)
        if picture is not None:
            draw(loaded, picture)


@app.command()
def sweep(
    problem: ProblemPath,
    param: Annotated[
        list[str], typer.Option("--param", "-p", help="NAME=1,2,3 or NAME=START:STOP:COUNT (repeatable).")
    ],
    tol: TolOption = None,
    seed: SeedOption = None,
    max_nodes: NodesOption = None,
    time_limit: TimeOption = None,
    output: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for the solutions.")] = None,
    at: Annotated[
        list[str] | None, typer.Option(help="Also print the value at x=0.5,y=0.2 (repeatable).")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Solve a problem file for several values of parameters.

    Several parameters are varied in all combinations of their values.

    \b
    pibls sweep problem.toml --param k=1,2,5,10 --at x=0.5
    pibls sweep problem.toml --param k=0:10:21 --out solutions

    With --out, solutions that are already in the folder are not computed again, so an interrupted sweep can
    be resumed.
    """
    from pibls.cli.sweep_command import combinations, sweep_rows
    from pibls.cli.values import shortest, values_text

    finished = f"; the solutions computed so far are in {output}" if output is not None else ""
    with report_errors(also_json=json, interrupted=f"interrupted{finished}"):
        if output is not None:
            output.mkdir(parents=True, exist_ok=True)
        combinations_of_values, not_converged = combinations(param), 0
        given = {"tol": tol, "seed": seed, "max_nodes": max_nodes, "time_limit": time_limit}
        for row in sweep_rows(problem, combinations_of_values, given, output, at or []):
            if json:
                print_json(row)
            else:
                which = ", ".join(f"{k}={shortest(v)}" for k, v in row["parameters"].items())
                values = "  ".join(values_text(v) for v in row["values"])
                how = f"error {row['error']:.1e}  {row['seconds']:6.2f} s"
                typer.echo(f"{which:24s} {row['status']:12s} {how}  {values}".rstrip())
            not_converged += not row["converged"]
        if not_converged and not json:
            count = len(combinations_of_values)
            err.print(f"{not_converged} of {count} solutions did not reach the tolerance", markup=False)
    exit_with(Exit.NOT_CONVERGED if not_converged else Exit.CONVERGED)


@app.command()
def cases(json: JsonOption = False) -> None:
    """List the test cases of the paper."""
    import pibls

    found = {name: pibls.cases[name].title for name in pibls.cases}
    if json:
        print_json(found)
    else:
        for name, title in found.items():
            typer.echo(f"{name:6s} {title}")


@app.command()
def case(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of the case, TC-1 … TC-11.", show_default=False, autocompletion=_case_names
        ),
    ],
    tol: Annotated[float, typer.Option(help="Tolerance: maximum error relative to max|u|.")] = 1e-10,
    seed: Annotated[
        int, typer.Option(help="Seed of the random numbers; the same seed gives the same result.")
    ] = 0,
    published: Annotated[bool, typer.Option(help="Use the settings of the paper.")] = False,
    picture: PictureOption = None,
    json: JsonOption = False,
) -> None:
    """Solve a test case of the paper and print its true error.

    \b
    pibls case TC-5
    pibls case TC-9 --published
    """
    import numpy as np

    import pibls
    from pibls.cli.output_files import check_targets, draw
    from pibls.cli.reports import solution_facts

    with report_errors(also_json=json):
        if name not in pibls.cases:
            raise UsageError(
                f"NAME: expected a test case, got {name}.{did_you_mean(name, list(pibls.cases))}"
            )
        found = pibls.cases[name]
        check_targets({"--picture": picture} if picture is not None else {}, found.problem)
        settings = found.published.settings if published else {"tol": tol}
        solution = solve_silently(found.problem, seed=seed, **settings)
        X = found.problem.domain.interior(4000, np.random.default_rng(1))
        error = float(np.abs(solution(*X.T) - found.exact(*X.T)).max())
        if json:
            print_json({"case": name, "true_error": error, **solution_facts(solution)})
        else:
            out.print(f"{name}: {found.title}", markup=False)
            out.print(solution.summary(), markup=False)
            out.print(f"true maximum error: {error:.1e} (paper: {found.published.max_error:.1e})")
        if picture is not None:
            draw(solution, picture, found.title)
    exit_by_status(solution, "this is the best solution so far")
