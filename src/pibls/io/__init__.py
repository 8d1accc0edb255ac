"""Problems on disk: TOML files, and starting points for new ones; and solutions."""

from pibls.io.problem_file import ProblemFile, parse_problem, read_problem
from pibls.io.solution_file import load, save
from pibls.io.writing import problem_text, python_functions

__all__ = [
    "ProblemFile",
    "load",
    "parse_problem",
    "problem_text",
    "python_functions",
    "read_problem",
    "save",
]
