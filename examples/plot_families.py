"""Families by kind of data.

    python examples/plot_families.py --output FOLDER

One picture for each row of "A family of distributions" in the guide: what the families look like at parameters that are usual
for such data, those of returns on a logarithmic axis. Saves plot_families.png.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from common import OUTPUT
from matplotlib import pyplot as plt

from numbastats import distributions as ds

PANELS = {  # kind of data: its unit, ends of the axis, and families
    "sizes > 0, skewed": (
        "size",
        (0.0, 4.0),
        [ds.Gamma(2.0, scale=0.5), ds.Lognormal(0.7, scale=0.8), ds.InverseGaussian(1.0, 2.0)],
    ),
    "lifetimes": ("years", (0.0, 3.0), [ds.Weibull(1.7, scale=1.1), ds.LogLogistic(3.0), ds.BirnbaumSaunders(0.6)]),
    "yearly maxima": ("m", (3.3, 5.3), [ds.GEV(-0.2, 3.9, 0.25), ds.Gumbel(3.9, 0.25), ds.GEV(0.2, 3.9, 0.25)]),
    "excesses over a threshold": (
        "million",
        (0.0, 40.0),
        [ds.GPD(0.5, scale=7.0), ds.GPD(0.1, scale=9.0), ds.Exponential(scale=10.0)],
    ),
    "measurements with outliers": ("error", (-5.0, 5.0), [ds.StudentT(3.0), ds.Laplace(), ds.Cauchy(scale=0.7)]),
    "skewed to one side": ("s", (-2.0, 5.0), [ds.SkewNormal(4.0), ds.ExGaussian(1.5, scale=0.6), ds.SkewT(3.0, 4.0)]),
    "daily returns": ("%", (-6.0, 6.0), [ds.NIG(1.2, -0.2, 1.0), ds.VarianceGamma(1.5, 1.8, -0.2), ds.StudentT(4.0, scale=0.7)]),
    "shares between 0 and 1": ("share", (0.0, 1.0), [ds.Beta(2.0, 5.0), ds.Beta(0.5, 0.5), ds.Kumaraswamy(2.0, 3.0)]),
    "counts": ("count", (0, 14), [ds.Poisson(4.0), ds.NegativeBinomial(4.0, 2.0), ds.Geometric(4.0)]),
}


def label(d):
    """The distribution as code, without location and scale."""
    shapes = [f"{n}={v:g}" for n, v in d.params._asdict().items() if n not in ("loc", "scale", "delta", "mu")]
    return f"{type(d).__name__}({', '.join(shapes)})"


def main():
    """Nine panels."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder for the plot")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(3, 3, figsize=(13, 9), constrained_layout=True)
    for ax, (title, (unit, (low, high), families)) in zip(axes.flat, PANELS.items(), strict=True):
        for i, d in enumerate(families):
            if d.is_discrete:
                k = np.arange(low, high + 1)
                ax.bar(k + 0.27 * (i - 1), d.pmf(k), width=0.27, label=label(d))
            else:
                x = np.linspace(low, high, 801)[1:-1]
                ax.plot(x, d.pdf(x), label=label(d))
        ax.set(title=title, xlabel=unit, ylim=(0.0, min(ax.get_ylim()[1], 3.0)))
        if unit == "%":
            ax.set(yscale="log", ylim=(1e-5, 20.0))
        ax.legend(fontsize=8, loc="upper right")
        print(f"{title:28s} {', '.join(map(label, families))}")
    figure.savefig(folder / "plot_families.png", dpi=110)
    print(f"wrote {folder / 'plot_families.png'}")


if __name__ == "__main__":
    main()
