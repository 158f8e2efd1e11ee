"""Smoothing kernels, a record each."""

# The code is written by tools/discover.py.

from typing import Literal

from numbastats.kde.smoothing_kernels.biweight import RECORD as biweight
from numbastats.kde.smoothing_kernels.cosine import RECORD as cosine
from numbastats.kde.smoothing_kernels.epanechnikov import RECORD as epanechnikov
from numbastats.kde.smoothing_kernels.gaussian import RECORD as gaussian
from numbastats.kde.smoothing_kernels.logistic import RECORD as logistic
from numbastats.kde.smoothing_kernels.triangular import RECORD as triangular
from numbastats.kde.smoothing_kernels.tricube import RECORD as tricube
from numbastats.kde.smoothing_kernels.triweight import RECORD as triweight
from numbastats.kde.smoothing_kernels.uniform import RECORD as uniform

__all__ = ["Name", "RECORDS"]

Name = Literal["biweight", "cosine", "epanechnikov", "gaussian", "logistic", "triangular", "tricube", "triweight", "uniform"]
RECORDS = (biweight, cosine, epanechnikov, gaussian, logistic, triangular, tricube, triweight, uniform)
