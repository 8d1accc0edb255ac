"""Parameters from data: the equation is a constraint, the misfit decides, the covariance falls out."""

from pibls.fitting.compare import Comparison
from pibls.fitting.data import Data
from pibls.fitting.field import Field
from pibls.fitting.fit import fit
from pibls.fitting.misfit import FitProgress
from pibls.fitting.noise import Residuals
from pibls.fitting.result import Fit
from pibls.fitting.verdict import Verdict

__all__ = ["Comparison", "Data", "Field", "Fit", "FitProgress", "Residuals", "Verdict", "fit"]
