"""pibls solve | fit | check | new | show | sweep | case | cases"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from pibls.cli.outcome import Exit, RefusedError, as_json, err, explained, leave, nearest, out, refuse
from pibls.cli.parts import beside, end, quietly, read, sketch, targets_of

if TYPE_CHECKING:
    pass


class Commands(TyperGroup):
    """Commands that answer an unknown word with the nearest valid one."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            refuse(f"no such command: {args[0]}.{nearest(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="""Solve differential equations from problem files.

\b
    pibls new poisson > problem.toml     a commented starting point
    pibls check problem.toml             what was understood
    pibls solve problem.toml             solution, summary and picture

\b
Exit codes: 0 solved to the tolerance; 1 not, what was found is written all the same; 2 something is
wrong with the input or output; 130 interrupted (143 by SIGTERM), the best so far is written.
""",
)

ProblemPath = Annotated[Path, typer.Argument(help="A problem file (TOML).", show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="One line of JSON instead of text.")]
PictureOption = Annotated[
    Path | None, typer.Option(help="Draw into this file (png, pdf, svg; gif or mp4 for a film).")
]
TolOption = Annotated[float | None, typer.Option(help="Wanted maximum error, relative to max|u|.")]
SeedOption = Annotated[int | None, typer.Option(help="Same seed, same result.")]
NodesOption = Annotated[int | None, typer.Option(help="The largest number of columns.")]
TimeOption = Annotated[float | None, typer.Option(help="Seconds after which no attempt is begun.")]
ParamOption = Annotated[
    list[str] | None, typer.Option("--param", "-p", help="NAME=VALUE, in place of the file's value.")
]


def _version(wanted: bool) -> None:
    if wanted:
        from pibls._version import __version__

        typer.echo(f"pibls {__version__}")
        leave(Exit.CONVERGED)


@app.callback()
def everything(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version and end.")
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
        Path | None, typer.Option("--out", "-o", help="Save the solution here.", show_default="NAME.pibls")
    ] = None,
    picture: PictureOption = None,
    workers: Annotated[
        int | None, typer.Option(help="Share cells among that many processes.", show_default=False)
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Share cells among the workers of this Dask scheduler.")
    ] = None,
    json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")] = False,
) -> None:
    """Solve a problem file: progress, summary, picture, saved solution.

    \b
    pibls solve problem.toml --tol 1e-8 --out heat.pibls --picture heat.png
    pibls solve problem.toml --json | jq .error.max
    pibls solve problem.toml --workers 4
    """
    from pibls.cli.sharing import shared
    from pibls.cli.told import facts_of
    from pibls.cli.writing import check_targets, write_outputs

    nothing = "interrupted before there was a first solution: nothing to save"
    with explained(as_json_too=json, interrupted=nothing):
        file = read(problem, param)
        saved = output or beside(problem, file)
        targets = targets_of(file, saved.parent, picture)
        check_targets({"--out": saved, **targets}, file.problem)
        given = {"tol": tol, "seed": seed, "max_nodes": max_nodes, "time_limit": time_limit}
        settings = {**file.settings, **{k: v for k, v in given.items() if v is not None}}
        with shared(workers, scheduler) as engine:
            shown = not (json or quiet) and err.is_terminal
            solution = quietly(file.problem, progress=shown, engine=engine, **settings)
        # The solution first: nothing that goes wrong with a picture may cost it.
        written, problems = [solution.save(saved)], list[str]()
        if targets:
            more, problems = write_outputs(solution, targets, file.title)
            written += more
        if json:
            wrong = {"error": "; ".join(problems)} if problems else {}
            as_json({**facts_of(solution), "written": [str(p) for p in written], **wrong})
        elif not quiet:
            out.print(solution.summary(), markup=False)
            for path in written:
                out.print(f"written: {path}", markup=False)
    if problems:
        refuse("; ".join(problems))
    end(solution, "the best solution so far was saved")


@app.command()
def fit(
    problem: ProblemPath,
    data: Annotated[Path | None, typer.Option(help="A CSV file, in place of that of [[data]].")] = None,
    unknown: Annotated[
        list[str] | None, typer.Option("--unknown", "-u", help="NAME=LOW:HIGH, in place of [fit].")
    ] = None,
    param: ParamOption = None,
    tol: TolOption = None,
    loss: Annotated[str | None, typer.Option(help="linear, or soft_l1, huber, … for outliers.")] = None,
    output: Annotated[Path | None, typer.Option("--out", "-o", help="Save the solution here.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw data, fit and band (png, pdf, svg).")] = None,
    json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no report.")] = False,
) -> None:
    """Find the parameters that explain measured data: progress, report, picture.

    \b
    pibls fit problem.toml --data cells.csv
    pibls fit problem.toml --data cells.csv --unknown D=100:3000 --picture cells.png
    """
    import pibls
    from pibls.cli.fitting import data_of, facts_of, teller, unknown_of
    from pibls.cli.writing import check_targets

    with explained(as_json_too=json, interrupted="interrupted: nothing was found yet"):
        file = read(problem, param)
        if picture is not None and picture.suffix.lower() not in (".png", ".pdf", ".svg"):
            raise RefusedError(f"--picture: expected a name that ends in .png, .pdf or .svg, got {picture}.")
        targets = {"--out": output, "--picture": picture}
        check_targets({k: path for k, path in targets.items() if path is not None})
        settings: dict[str, Any] = {**file.fit.settings, "seed": file.seed}
        settings.update({k: v for k, v in {"tol": tol, "loss": loss}.items() if v is not None})
        told = None if json or quiet else teller(lambda line: err.print(line, markup=False, highlight=False))
        found = pibls.fit(
            file.problem,
            data_of(file, problem.parent, data),
            unknown_of(file, unknown or []),
            callback=told,
            **settings,
        )
        written = []
        if output is not None:
            written.append(found.solution.save(output))
        if picture is not None:
            found.plot().savefig(picture, dpi=144)
            written.append(picture)
        if json:
            as_json({**facts_of(found), "written": [str(p) for p in written]})
        elif not quiet:
            out.print(found.summary(), markup=False, highlight=False)
            for path in written:
                out.print(f"written: {path}", markup=False)
    leave(Exit.CONVERGED if found.converged and found.identifiable else Exit.NOT_CONVERGED)


@app.command()
def check(
    problem: ProblemPath,
    param: ParamOption = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the domain into this file (svg).")] = None,
    json: JsonOption = False,
) -> None:
    """Say what was understood: unknowns, linearity, orders, conditions and where they hold.

    The exit code is 2 where conditions are missing without which the problem is underdetermined.

    \b
    pibls check problem.toml
    pibls check problem.toml --picture domain.svg
    """
    from pibls.cli.told import check_table, understood

    with explained(as_json_too=json):
        if picture is not None and picture.suffix.lower() != ".svg":
            raise RefusedError(f"--picture: expected a name that ends in .svg, got {picture}.")
        file = read(problem, param)
        facts = understood(file.problem)
        if picture is not None:
            sketch(file, picture)
        if json:
            as_json({"title": file.title, **facts})
        else:
            out.print(check_table(facts, file.title))
        if facts["missing_conditions"]:
            missing = "; ".join(facts["missing_conditions"])
            raise RefusedError(f"conditions: the problem is underdetermined, missing {missing}. Add them.")


@app.command()
def new(
    kind: Annotated[
        str | None,
        typer.Argument(help="Which; without it, the list.", autocompletion=_kinds),
    ] = None,
) -> None:
    """Print a commented starting point.

    \b
    pibls new                          the kinds there are
    pibls new heat > problem.toml
    """
    from pibls.io.templates import summary, template

    if kind is None:
        for name in _kinds():
            typer.echo(f"{name:20s} {summary(name)}")
        return
    with explained():
        typer.echo(template(kind), nl=False)


@app.command()
def show(
    solution: Annotated[Path, typer.Argument(help="A saved solution.", show_default=False)],
    picture: PictureOption = None,
    at: Annotated[list[str] | None, typer.Option(help="Value there: x=0.5,y=0.2 (repeatable).")] = None,
    json: JsonOption = False,
) -> None:
    """Summary of a saved solution, or its values at points; and its picture.

    \b
    pibls show heat.pibls --picture heat.png
    pibls show heat.pibls --at x=0.5,t=0.1
    """
    import pibls
    from pibls.cli.told import facts_of
    from pibls.cli.values import values_at, values_text
    from pibls.cli.writing import check_targets, draw

    with explained(as_json_too=json):
        loaded = pibls.load(solution)
        targets = {"--picture": picture} if picture is not None else {}
        check_targets(targets, loaded.problem)
        found = [values_at(loaded, text) for text in at or []]
        if json:
            as_json({**facts_of(loaded), "values": found})
        elif found:  # whoever asks for numbers is not told the rest as well
            for entry in found:
                out.print(values_text(entry), markup=False)
        else:
            out.print(loaded.summary(), markup=False)
        if picture is not None:
            draw(loaded, picture)


@app.command()
def sweep(
    problem: ProblemPath,
    param: Annotated[list[str], typer.Option("--param", "-p", help="NAME=1,2,3 or NAME=START:STOP:COUNT.")],
    tol: TolOption = None,
    seed: SeedOption = None,
    max_nodes: NodesOption = None,
    time_limit: TimeOption = None,
    output: Annotated[Path | None, typer.Option("--out", "-o", help="A folder for solutions.")] = None,
    at: Annotated[list[str] | None, typer.Option(help="Also the value there: x=0.5,y=0.2.")] = None,
    json: JsonOption = False,
) -> None:
    """Solve for each value of a parameter, or each combination of several.

    \b
    pibls sweep problem.toml --param k=1,2,5,10 --at x=0.5
    pibls sweep problem.toml --param k=0:10:21 --out solutions

    With --out, what is there already is not solved again: an interrupted sweep loses nothing.
    """
    from pibls.cli.sweeping import combinations, swept
    from pibls.cli.values import short, values_text

    finished = f"; what was finished is in {output}" if output is not None else ""
    with explained(as_json_too=json, interrupted=f"interrupted{finished}"):
        if output is not None:
            output.mkdir(parents=True, exist_ok=True)
        values_of, missed = combinations(param), 0
        given = {"tol": tol, "seed": seed, "max_nodes": max_nodes, "time_limit": time_limit}
        for row in swept(problem, values_of, given, output, at or []):
            if json:
                as_json(row)
            else:
                which = ", ".join(f"{k}={short(v)}" for k, v in row["parameters"].items())
                values = "  ".join(values_text(v) for v in row["values"])
                how = f"error {row['error']:.1e}  {row['seconds']:6.2f} s"
                typer.echo(f"{which:24s} {row['status']:12s} {how}  {values}".rstrip())
            missed += not row["converged"]
        if missed and not json:
            err.print(f"{missed} of {len(values_of)} did not reach the tolerance", markup=False)
    leave(Exit.NOT_CONVERGED if missed else Exit.CONVERGED)


@app.command()
def cases(json: JsonOption = False) -> None:
    """List the paper's test cases."""
    import pibls

    found = {name: pibls.cases[name].title for name in pibls.cases}
    if json:
        as_json(found)
    else:
        for name, title in found.items():
            typer.echo(f"{name:6s} {title}")


@app.command()
def case(
    name: Annotated[str, typer.Argument(help="TC-1 … TC-11", show_default=False, autocompletion=_case_names)],
    tol: Annotated[float, typer.Option(help="Wanted maximum error, relative to max|u|.")] = 1e-10,
    seed: Annotated[int, typer.Option(help="Same seed, same result.")] = 0,
    published: Annotated[bool, typer.Option(help="With the paper's settings.")] = False,
    picture: PictureOption = None,
    json: JsonOption = False,
) -> None:
    """Solve one of the paper's test cases and compare with its exact solution.

    \b
    pibls case TC-5
    pibls case TC-9 --published
    """
    import numpy as np

    import pibls
    from pibls.cli.told import facts_of
    from pibls.cli.writing import check_targets, draw

    with explained(as_json_too=json):
        if name not in pibls.cases:
            raise RefusedError(f"NAME: no case called {name}.{nearest(name, list(pibls.cases))}")
        found = pibls.cases[name]
        check_targets({"--picture": picture} if picture is not None else {}, found.problem)
        settings = found.published.settings if published else {"tol": tol}
        solution = quietly(found.problem, seed=seed, **settings)
        X = found.problem.domain.interior(4000, np.random.default_rng(1))
        error = float(np.abs(solution(*X.T) - found.exact(*X.T)).max())
        if json:
            as_json({"case": name, "true_error": error, **facts_of(solution)})
        else:
            out.print(f"{name}: {found.title}", markup=False)
            out.print(solution.summary(), markup=False)
            out.print(f"true maximum error: {error:.1e} (paper: {found.published.max_error:.1e})")
        if picture is not None:
            draw(solution, picture, found.title)
    end(solution, "this is the best so far")
