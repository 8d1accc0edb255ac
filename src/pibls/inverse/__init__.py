"""Parameter estimation: fit parameters or coefficient functions of a problem to measured data."""

from pibls.inverse.data import Data
from pibls.inverse.fit import fit
from pibls.inverse.identifiability import Identifiability
from pibls.inverse.misfit import FitProgress
from pibls.inverse.model_comparison import Comparison
from pibls.inverse.residual_tests import Residuals
from pibls.inverse.result import Fit
from pibls.inverse.unknown_function import Field

__all__ = ["Comparison", "Data", "Field", "Fit", "FitProgress", "Identifiability", "Residuals", "fit"]
