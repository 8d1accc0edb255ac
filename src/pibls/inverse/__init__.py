"""Parameters from data: the equation is a constraint, the misfit decides, the covariance falls out."""

from pibls.inverse.compare import Comparison
from pibls.inverse.data import Data
from pibls.inverse.field import Field
from pibls.inverse.fit import fit
from pibls.inverse.misfit import FitProgress
from pibls.inverse.noise import Residuals
from pibls.inverse.result import Fit
from pibls.inverse.verdict import Verdict

__all__ = ["Comparison", "Data", "Field", "Fit", "FitProgress", "Residuals", "Verdict", "fit"]
