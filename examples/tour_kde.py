"""The tour's density part.

Two clinical measurements of 569 breast tumours (Street, Wolberg and Mangasarian, "Nuclear feature extraction for breast tumor
diagnosis", 1993; Wisconsin Diagnostic data, shipped with scikit-learn): the joint density of mean radius and mean texture of
the nuclei, benign and malignant, and where one is more likely than the other.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import gaussian_kde
from sklearn.datasets import load_breast_cancer
from tour_timing import SMOKE, race

import numbastats as ns

MASSES = (0.95, 0.75, 0.5)  # shares of a density within its contours


def run(rows, figure):
    """Densities of both groups, their overlap, and a cross-validated bandwidth."""
    data = load_breast_cancer()
    x = data.data[:, [list(data.feature_names).index(name) for name in ("mean radius", "mean texture")]]
    groups = {"malignant": x[data.target == 0], "benign": x[data.target == 1]}
    shape = (60, 60) if SMOKE else (400, 400)
    axes = ns.kde.regular_axes(x, shape=shape)
    cell = np.prod([a[1] - a[0] for a in axes])
    mesh = np.stack([m.ravel() for m in np.meshgrid(*axes, indexing="ij")])

    densities = {}
    for name, samples in groups.items():
        kde = ns.kde.KDE(kernel="biweight", workers=1).fit(samples)
        (f, seconds), (_, theirs) = race(
            1 if SMOKE else 2, lambda kde=kde: kde.grid(axes), lambda s=samples: gaussian_kde(s.T)(mesh)
        )
        densities[name] = f
        what = f"density of {len(samples)} {name} tumours, {shape[0]}x{shape[1]}"
        text = f"integral {f.sum() * cell:.4f}, zeros {np.mean(f == 0):.0%}"
        rows.append((what, text, seconds, "SciPy (Gaussian kernel)", theirs / seconds))
    overlap = ns.kde.perkins(*densities.values())
    rows.append(("similarity of the two densities (Perkins)", f"{overlap:.3f} of 1", None, None, None))
    fitted = {name: ns.kde.KDE(kernel="biweight", workers=1).fit(samples) for name, samples in groups.items()}
    share = {name: len(samples) / len(x) for name, samples in groups.items()}
    scores = {
        n: share[n] * np.where(data.target == k, k_loo(fitted[n], x, data.target == k), fitted[n].points(x))
        for k, n in enumerate(groups)
    }
    right = np.mean((scores["benign"] > scores["malignant"]) == (data.target == 1))
    rows.append(("classified by the larger density, left out", f"{right:.1%} right", None, None, None))
    [(h, seconds)] = race(1, lambda: ns.kde.bandwidth.lscv(groups["benign"]))
    rows.append(
        (
            "exact cross-validation of the bandwidth",
            f"h = {h:.3f}, default {ns.kde.bandwidth.eq9(groups['benign']):.3f}",
            seconds,
            None,
            None,
        )
    )

    panel = figure.subplots()
    for (name, f), colour in zip(densities.items(), ("tab:red", "tab:blue"), strict=True):
        levels = ns.kde.hdr_levels(f, MASSES, cell=cell)
        lines = panel.contour(axes[0], axes[1], f.T, levels=levels, colors=colour, linewidths=1)
        panel.clabel(lines, fmt={level: f"{mass:.0%}" for level, mass in zip(levels, MASSES, strict=True)})
        panel.plot(*groups[name].T, ".", ms=2, color=colour, label=name)
    odds = share["benign"] * densities["benign"] - share["malignant"] * densities["malignant"]
    total = sum(share[name] * f for name, f in densities.items())
    where = total > ns.kde.hdr_levels(total, 0.95, cell=cell)  # beyond, single tumours decide
    panel.contour(axes[0], axes[1], np.where(where, odds, np.nan).T, levels=[0], colors="k", linewidths=1.5)
    panel.set(
        xlabel="mean radius of nuclei",
        ylabel="mean texture (sd of grey levels)",
        title="569 tumours: shares within contours; black: equal odds",
    )
    panel.legend(frameon=False)


def k_loo(fitted, x, own):
    """Leave-one-out density of the group's own samples, placed among all."""
    out = np.zeros(len(x))
    out[own] = fitted.loo()
    return out
