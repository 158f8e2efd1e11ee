"""Samples with their kernel matrix."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np

from numbastats._core.place import Place
from numbastats.kde.smoothing import Smoothing

__all__ = ["Model"]


@dataclasses.dataclass(eq=False)
class Model:
    """Samples, kernel and all else that does not depend on the positions at which the density is evaluated."""

    samples: Any  # (n, d), on the host, or without weights at a place
    weights: np.ndarray | None
    kernel: Smoothing
    H: np.ndarray  # kernel matrix, the covariance for the Gaussian
    h: float | None
    sigma: np.ndarray | None
    tail: float
    total: float  # sum of weights
    n_eff: float
    low: np.ndarray
    high: np.ndarray
    dtype: np.dtype
    kind: str | None
    scale: np.ndarray | None = None  # adaptive: lambda per sample
    dropped: int = 0
    product: bool = False  # product of one-dimensional kernels along the axes, H diagonal
    keep: np.ndarray | None = None  # mask of the caller's samples that are in x, where nan_policy="omit" dropped some
    place: Place | None = None  # the GPU on which the samples are
    n: int = dataclasses.field(init=False)
    d: int = dataclasses.field(init=False)
    power: Any = dataclasses.field(init=False)  # exponent p of (1 - q)^p, None for the other kernels
    number: int = dataclasses.field(init=False)  # of the kernel in the kernels' code
    whole: bool = dataclasses.field(init=False)  # whether the kernel has no end

    def __post_init__(self):
        (self.n, self.d), self.power, self.number = self.samples.shape, self.kernel.power, self.kernel.number
        self.whole = self.kernel.tailed and self.tail == 0

    @functools.cached_property
    def x(self):
        """The samples on the host."""
        return self.samples if self.place is None else self.place.host(self.samples)

    @property
    def centre(self):
        """An origin that no outlier moves: along every axis the value of a sample in the middle."""
        x = self.x[:: max(1, len(self.x) // 1000)]
        return np.sort(x, axis=0)[len(x) // 2] if len(x) else np.zeros(self.d)

    @functools.cached_property
    def tau2(self):
        """Squared radius of the support in units of H."""
        return self.kernel.squared_reach(1 if self.product else self.d, self.tail)

    @property
    def decay(self):
        """Half the squared radius of the support in units of H, which profiles take."""
        return 0.5 * self.tau2

    @functools.cached_property
    def support(self):
        """Matrix whose unit ellipsoid is the support, without adaptive scales."""
        return self.H * self.tau2

    @property
    def reach(self):
        """Half edges of the box around the support in the data's units, times the largest adaptive scale."""
        return np.sqrt(np.diag(self.support)) * (1.0 if self.scale is None else float(self.scale.max()))

    @functools.cached_property
    def constant(self):
        """Density per unit of sum w lambda^-d K(q)."""
        c = self.kernel.height(1 if self.product else self.d, self.tail)
        c **= self.d if self.product else 1
        size = np.sqrt(np.diag(self.H))
        root = math.sqrt(np.linalg.det(self.H / np.outer(size, size))) * math.prod(size.tolist())
        if not (1e-300 < min(root, root * self.total) and root * self.total < 1e300):
            raise ValueError("the density is too large or too small for double precision; rescale the samples and the bandwidth")
        return c / (self.total * root)

    @property
    def peak(self):
        """The kernel at 0, not normalised."""
        return float(self.kernel.profile(0.0, self.decay)) ** (self.d if self.product else 1)

    def subset(self, x, weights, scale):
        """The same estimate with other samples (mirror images, shifted copies); the total weight stays."""
        return dataclasses.replace(self, samples=np.ascontiguousarray(x), weights=weights, scale=scale, place=None)
