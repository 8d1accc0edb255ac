"""Bases: `Broad` is the paper's, `Features` plain random features; each is drawn for a box."""

from pibls.basis.broad import Broad, BroadBasis
from pibls.basis.feature import FeatureBasis, Features
from pibls.basis.protocol import Basis, BasisSpec, jet
from pibls.basis.waves import WaveBasis, Waves

__all__ = [
    "Basis",
    "BasisSpec",
    "Broad",
    "BroadBasis",
    "FeatureBasis",
    "Features",
    "WaveBasis",
    "Waves",
    "jet",
]
