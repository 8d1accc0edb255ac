"""Problems on disk: TOML files, and starting points for new ones."""

from pibls.io.problem_file import ProblemFile, parse_problem, read_problem
from pibls.io.writing import problem_text, python_functions

__all__ = ["ProblemFile", "parse_problem", "problem_text", "python_functions", "read_problem"]
