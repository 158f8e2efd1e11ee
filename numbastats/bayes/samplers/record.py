"""The record of a sampler: its functions, and what the run of a fit has to know of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Sampler(NamedTuple):
    """What a chain needs.

    Parameters
    ----------
    name : str
        Of its file.
    word : str
        By which users name it.
    init : callable
        The chains at their start: ``init(problem, prior, numbers, chains)``, a NamedTuple with "b", "scales" and, where there are
        own parameters of the response, "extras": their transformed values by name, shape (chains,).
    step : callable
        The state after an iteration, and what it reports: ``step(problem, prior, state, numbers)``.
    problem : callable
        What a fit computes once: ``problem(rows, prior)``, by default the rows.
    by_rows : callable
        Whether its algebra is of n x n, of the numbers of rows and columns: all rows in memory, and n more normals a step.
    products : bool
        Whether almost all work is in products of matrices, in which BLAS makes many multiplications at a time.
    passes : bool
        Whether it passes over dense rows at every iteration, perhaps on a GPU.
    adapts : bool
        Whether the warmup learns a normal approximation, the state's `metric`.
    sweeps : bool
        Whether an iteration has inner sweeps, instead of a rotation by an angle that the warmup learns, too.
    heavy_tails : bool
        Whether it is advised where a surrogate misses heavy tails.
    learn : callable, optional
        What an iteration of the warmup changes in a state for the next ones: ``learn(problem, state, iteration)``.
    """

    name: str
    word: str
    init: Callable
    step: Callable
    problem: Callable = lambda rows, prior: rows
    by_rows: Callable = lambda n, p: False
    products: bool = False
    passes: bool = True
    adapts: bool = False
    sweeps: bool = False
    heavy_tails: bool = False
    learn: Callable | None = None
