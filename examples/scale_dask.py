"""Dask with one and several workers.

One worker process and several: the same bits, and how the time divides.

    python examples/scale_dask.py [--workers 2] [--points 10_000_000] [--repeats 3]

Three jobs of independent parts: fits of many data sets, a kernel density of samples that no process holds whole, and the chains
of a probit regression. Prints wall times, medians of rounds in which the clusters take turns, and the efficiency: the time with
one worker over the number of workers times the time with all of them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import time

import numpy as np

import numbastats as ns

SMOKE = os.environ.get("NUMBASTATS_SMOKE") == "1"  # a smaller run for continuous integration


def blocks_of_draws(points, size=1_000_000):
    """A dask array of normal draws (points, 2), made where its blocks are: `offset` makes them parts of one stream."""
    import dask
    import dask.array as da

    size = min(size, points)
    draw = dask.delayed(ns.random.normal)
    parts = [draw(size=(size, 2), rng=1, offset=2 * size * i, workers=1) for i in range(points // size)]
    return da.concatenate([da.from_delayed(part, (size, 2), float) for part in parts])


def jobs(points):
    """Name of each job, and its call by an executor."""
    sets = ns.stable.rvs(1.7, 0.3, size=(8, 300) if SMOKE else (2400, 1000), rng=2)
    mixtures = ns.random.gamma(2.0, size=(20, 200) if SMOKE else (12_000, 1000), rng=3)
    axes = [(-5.0, 5.0, 201), (-5.0, 5.0, 201)]
    n, p = (200, 3) if SMOKE else (4000, 40)
    x = ns.random.normal(size=(n, p), rng=4)
    y = x[:, 0] - x[:, 1] + ns.random.normal(size=n, rng=5) > 0
    probit = dict(chains=4, rng=1, **(dict(warmup=60, draws=50) if SMOKE else dict(warmup=500, draws=1000)))

    return {
        f"{len(sets):,} stable fits": lambda client: ns.stable.fit_many(sets, workers=client).params,
        f"{len(mixtures):,} mixtures of two gammas": lambda client: (
            ns.mixture.fit_many(mixtures, 2, family="gamma", rng=0, workers=client).centres
        ),
        f"density of {points:,} samples": lambda client: ns.kde.grid(blocks_of_draws(points), axes).compute(),
        f"4 chains, {n:,} x {p}": lambda client: ns.bayes.HorseshoeProbit(**probit, workers=client).fit(x, y).coef_,
    }


def timed(call, *args):
    """Result and wall time."""
    begin = time.perf_counter()
    result = call(*args)
    return result, time.perf_counter() - begin


def main():
    """Time every job on both clusters in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2, help="number of worker processes of the second cluster")
    parser.add_argument("--points", type=int, default=200_000 if SMOKE else 10_000_000, help="samples of the density")
    parser.add_argument("--repeats", type=int, default=1 if SMOKE else 3)
    options = parser.parse_args()
    import dask
    from dask.distributed import Client, LocalCluster

    print(f"{'':32s} {'1 worker':>10s} {f'{options.workers} workers':>10s}  efficiency")
    with contextlib.ExitStack() as stack:
        clients = []
        for number in (1, options.workers):
            cluster = LocalCluster(n_workers=number, threads_per_worker=1, processes=True, dashboard_address=":0")
            clients.append(stack.enter_context(Client(stack.enter_context(cluster), set_as_default=False)))
        for name, call in jobs(options.points).items():
            results, times = [], []
            for round_ in range(1 + options.repeats):  # the first one, which may compile, is not counted
                for client in clients:
                    with dask.config.set(scheduler=client):
                        result, seconds = timed(call, client)
                    results.append(result)
                    times += [seconds] * (round_ > 0)
            one, several = statistics.median(times[::2]), statistics.median(times[1::2])
            same = all(np.array_equal(result, results[0], equal_nan=True) for result in results)
            share = one / (options.workers * several)
            print(f"{name:32s} {one:8.2f} s {several:8.2f} s  {share:8.2f}   {'same bits' if same else 'OTHER BITS'}", flush=True)


if __name__ == "__main__":
    main()
