"""Problem files in TOML, templates for them, and saved solutions."""

from pibls.io.problem_file import ProblemFile, parse_problem, read_problem
from pibls.io.problem_writer import problem_text, python_functions
from pibls.io.solution_file import load, save

__all__ = [
    "ProblemFile",
    "load",
    "parse_problem",
    "problem_text",
    "python_functions",
    "read_problem",
    "save",
]
