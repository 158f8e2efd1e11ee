"""Mixtures: the report's tables.

The timing tables of the bulkem report (Howson 2015, sections 4.1 and 4.2), beside the report's own figures. These are of an
interpreted R loop and of a CUDA GPU of 2014; they are quoted for scale, not as a comparison of hardware.
"""

import time

import numpy as np
from matplotlib import pyplot as plt

import numbastats as ns

# sphinx_gallery_thumbnail_path = "images/gallery/plot_mixture_tables.png"
# number: seconds of the report, on a CPU and on a GPU
SINGLE = {100: (0.00620, 0.01576), 1_000: (0.06032, 0.01572), 10_000: (0.67876, 0.03924), 100_000: (6.35048, 0.1974)}
MANY = {1: (0.10452, 0.02092), 10: (1.12048, 0.05364), 100: (10.12788, 0.35904), 1_000: (102.4084, 3.42036)}


def draw(sets, size):
    """Data of the report's manual: 0.3 IG(mean 1, lambda 30) + 0.7 IG(mean 3, lambda 0.2)."""
    return ns.mixture.rvs([0.3, 0.7], [1.0, 3.0], [30.0, 0.2], (sets, size), rng=2015, family="inverse_gaussian")


def timed(function, repeats=3):
    """Result and shortest wall time in seconds, after a first call that may compile."""
    result, times = function(), []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return result, min(times)


def measure(x):
    """Seconds by the report's algorithm and of the default fit, and the share of fits that end at the best known optimum."""
    plain, rule = timed(lambda: ns.mixture.bulkem(x, rng=1))
    fits, certified = timed(lambda: ns.mixture.fit_many(x, 2, rng=1, family="inverse_gaussian"))
    best = np.mean([p["loglik"] > ll - 1e-2 for p, ll in zip(plain, fits.loglik, strict=True)])
    return rule, certified, best, np.mean(fits.status == 0)


def table(label, rows, data):
    """One table: the report's algorithm from one random start, and the default fit, certified, of 30 starts."""
    print(f"{label:>10s} {'rule':>10s} {'certified':>10s} {'report CPU':>11s} {'report GPU':>11s}  rule at the best, certified")
    columns = []
    for size, report in rows.items():
        rule, certified, best, sure = measure(data(size))
        print(f"{size:10,d} {rule:10.5f} {certified:10.5f} {report[0]:11.5f} {report[1]:11.5f}  {best:.0%}, {sure:.0%}")
        columns.append((rule, certified, *report))
    return np.array(columns).T


def draw_times(sizes, columns, label):
    """Times against sizes."""
    figure, axis = plt.subplots()
    names = ("the report's rule, 1 start", "certified, 30 starts", "report, R on a CPU", "report, CUDA (2014)")
    for name, column, style in zip(names, columns, ("o-", "s-", "x--", "+--"), strict=True):
        axis.loglog(sizes, column, style, label=name)
    axis.set(xlabel=label, ylabel="seconds")
    axis.legend(frameon=False)
    plt.show()


# %%
# Section 4.1: one data set.

draw_times(list(SINGLE), table("values", SINGLE, lambda n: draw(1, n)), "values in one data set")

# %%
# Section 4.2: many data sets of 2000 values. One random start often ends below the best optimum.

VALUES = 2000
draw_times(list(MANY), table("data sets", MANY, lambda d: draw(d, VALUES)), f"data sets of {VALUES} values")
