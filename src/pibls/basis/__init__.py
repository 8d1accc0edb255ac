"""Bases: families of functions whose derivatives of any order can be evaluated.

A specification (`Broad`, `Features`, `RandomFourierFeatures`, public as `Waves`, `Ridges`, `Chebyshev`,
`Joined`) holds the hyperparameters; its ``draw(box, rng)`` returns a basis for that box. `Broad` is the basis
of the paper. `Mirrored` and `Annular` are made for holes, `PowersBasis`, `PolarBasis` and `Singular` for
singularities at corners, `ExponentialBasis` for boundary layers. `ProductBasis`, `TotalDegreeBasis` and
`SpaceTimeBasis` are polynomials.
"""

from pibls.basis.broad import Broad, BroadBasis, BroadWeights, broad_weights
from pibls.basis.feature import FeatureBasis, Features
from pibls.basis.grown_broad import GrownBroad, added_nodes, as_grown, coefficient_order
from pibls.basis.joined import Joined, JoinedBasis
from pibls.basis.polynomials.chebyshev import Chebyshev, ChebyshevBasis
from pibls.basis.polynomials.product import ProductBasis
from pibls.basis.polynomials.space_time import SpaceTimeBasis
from pibls.basis.polynomials.total_degree import TotalDegreeBasis
from pibls.basis.protocol import Basis, BasisSpec, jet
from pibls.basis.random_fourier import RandomFourierBasis, RandomFourierFeatures, Waves
from pibls.basis.ridges import Ridges
from pibls.basis.singular.annular import Annular, AnnularBasis
from pibls.basis.singular.corner_functions import Singular, SingularBasis, Tip
from pibls.basis.singular.exponential import ExponentialBasis
from pibls.basis.singular.mirrored import Mirrored, MirroredBasis
from pibls.basis.singular.polar import PolarBasis, without_corner_functions
from pibls.basis.singular.powers import PowersBasis

__all__ = [
    "Annular",
    "AnnularBasis",
    "Basis",
    "BasisSpec",
    "Broad",
    "BroadBasis",
    "BroadWeights",
    "Chebyshev",
    "ChebyshevBasis",
    "ExponentialBasis",
    "FeatureBasis",
    "Features",
    "GrownBroad",
    "Joined",
    "JoinedBasis",
    "Mirrored",
    "MirroredBasis",
    "PolarBasis",
    "PowersBasis",
    "ProductBasis",
    "RandomFourierBasis",
    "RandomFourierFeatures",
    "Ridges",
    "Singular",
    "SingularBasis",
    "SpaceTimeBasis",
    "Tip",
    "TotalDegreeBasis",
    "Waves",
    "added_nodes",
    "as_grown",
    "broad_weights",
    "coefficient_order",
    "jet",
    "without_corner_functions",
]
