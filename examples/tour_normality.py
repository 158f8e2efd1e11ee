"""The tour's normality part.

Two clinical measurements (442 diabetes patients; Efron, Hastie, Johnstone and Tibshirani, "Least angle regression", Annals of
Statistics 2004; shipped with scikit-learn). Each sample is compared with the normal distribution by its quantile-quantile
plot; the correlation of that plot is a test statistic (Filliben 1975), and its null distribution comes from ten million normal
draws, which do not depend on the number of cores.
"""

from __future__ import annotations

import numpy as np
import scipy.special
from sklearn.datasets import load_diabetes
from tour_timing import SMOKE, race

import numbastats as ns


def ppcc(ordered, scores):
    """Correlation of ordered samples (rows) with the normal scores."""
    centred = ordered - ordered.mean(axis=-1, keepdims=True)
    return centred @ scores / np.sqrt((centred**2).sum(axis=-1) * (scores @ scores))


def run(rows, figure):
    """Quantile-quantile analysis of body-mass index and blood pressure."""
    data = load_diabetes(scaled=False)
    columns = {name: data.data[:, data.feature_names.index(name)] for name in ("bmi", "bp")}
    labels = {"bmi": "body-mass index, kg/m²", "bp": "mean blood pressure, mmHg"}
    n = data.data.shape[0]
    positions = (np.arange(1, n + 1) - 0.375) / (n + 0.25)  # Blom
    scores = ns.quantile.ndtri(positions)

    replicates = 200 if SMOKE else -(-10_000_000 // n)
    draw = {"rng": 20041}
    (normals, seconds), (one, seconds_one), (_, numpy_seconds) = race(
        3,
        lambda: ns.random.normal(size=(replicates, n), **draw),
        lambda: ns.random.normal(size=(replicates, n), workers=1, **draw),
        lambda: np.random.default_rng(1).standard_normal((replicates, n)),
    )
    assert np.array_equal(normals, one)  # the number of workers does not matter
    text = f"mean {normals.mean():+.5f}, sd {normals.std():.5f}"
    rows.append((f"{normals.size:,} normal draws, all cores", text, seconds, "NumPy (one core)", numpy_seconds / seconds))
    rows.append(("  the same on one core", "identical bits", seconds_one, "NumPy", numpy_seconds / seconds_one))

    u = np.random.default_rng(2).random(normals.size)
    ours, theirs = np.empty_like(u), np.empty_like(u)
    (z, seconds), (reference, scipy_seconds) = race(
        3, lambda: ns.quantile.ndtri(u, out=ours, workers=1), lambda: scipy.special.ndtri(u, out=theirs)
    )
    difference = np.max(np.abs(z - reference) / np.maximum(np.abs(reference), 1e-3))
    text = f"agrees with SciPy to {difference:.1e}"
    rows.append((f"{u.size:,} normal quantiles, one core", text, seconds, "SciPy", scipy_seconds / seconds))

    normals.sort(axis=1)
    null = ppcc(normals, scores)
    envelope = np.quantile(normals, [0.025, 0.975], axis=0)
    axes = figure.subplots(1, 2)
    for axis, (name, x) in zip(axes, columns.items(), strict=True):
        ordered = np.sort(x)
        statistic = ppcc(ordered[None], scores)[0]
        below = np.sum(null <= statistic)
        p = f"p {'=' if below else '<='} {(1 + below) / (1 + null.size):.1g}"  # no fewer than one in all samples can be told
        mean, sd = x.mean(), x.std(ddof=1)
        rows.append(
            (
                f"{labels[name].split(',')[0]} (n = {n})",
                f"QQ correlation {statistic:.5f}, {p} of {null.size:,} samples",
                None,
                None,
                None,
            )
        )
        axis.fill_between(scores, mean + sd * envelope[0], mean + sd * envelope[1], color="0.85", label="95 % of normal samples")
        axis.plot(scores, mean + sd * scores, "k-", lw=0.8)
        axis.plot(scores, ordered, ".", ms=3, label=f"correlation {statistic:.4f}")
        axis.set(xlabel="normal quantile", ylabel=labels[name])
        axis.legend(loc="upper left", frameon=False)
    figure.suptitle(f"{n} patients: is a normal distribution tenable? Pressures are rounded")
