"""Bases, each drawn for a box: `Broad` is the paper's, `Features` plain random features, `Waves` paired
sines and cosines, `Mirrored` the same around a hole, `Ridges` placed ones, `Chebyshev` polynomials on a
line, `PowersBasis` and `PolarBasis` what is singular at a corner, `ExponentialBasis` thin layers; `Joined`
puts several side by side. Of evolutions: `ProductBasis`, on any shape `DegreeBasis` and `EvolvingBasis`."""

from pibls.basis.broad import Broad, BroadBasis, BroadWeights, weights_of
from pibls.basis.feature import FeatureBasis, Features
from pibls.basis.grown import GrownBroad, natural_order, nodes_since
from pibls.basis.joined import Joined, JoinedBasis
from pibls.basis.polynomials.chebyshev import Chebyshev, ChebyshevBasis
from pibls.basis.polynomials.degrees import DegreeBasis
from pibls.basis.polynomials.evolving import EvolvingBasis
from pibls.basis.polynomials.product import ProductBasis
from pibls.basis.protocol import Basis, BasisSpec, jet
from pibls.basis.ridges import Ridges
from pibls.basis.singular.annular import Annular, AnnularBasis
from pibls.basis.singular.exponential import ExponentialBasis
from pibls.basis.singular.mirrored import Mirrored, MirroredBasis
from pibls.basis.singular.polar import PolarBasis, without_corners
from pibls.basis.singular.powers import PowersBasis
from pibls.basis.singular.tips import Singular, SingularBasis, Tip
from pibls.basis.waves import WaveBasis, Waves

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
    "DegreeBasis",
    "EvolvingBasis",
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
    "Ridges",
    "Singular",
    "SingularBasis",
    "Tip",
    "WaveBasis",
    "Waves",
    "jet",
    "natural_order",
    "nodes_since",
    "weights_of",
    "without_corners",
]
