"""The program of Howson (2015) under its own names: starts, M-step, stopping rule and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor

import numpy as np
from numpy.typing import ArrayLike

from numbastats._core.errors import names_ours
from numbastats._core.options import Device
from numbastats._core.status import FITTED
from numbastats.mixture.arguments import one_number
from numbastats.mixture.fitting import fit_many

_FIELDS = ("lambda", "mu", "alpha", "init_lambda", "init_mu", "init_alpha")


@names_ours
def bulkem(
    datasets: Sequence[ArrayLike] | ArrayLike,
    num_components: int = 2,
    max_iters: int = 100,
    random_inits: int = 1,
    epsilon: float = 1e-6,
    verbose: bool = False,
    use_gpu: bool | None = None,
    *,
    rng: int | np.random.SeedSequence | np.random.Generator | None = None,
    device: Device = None,
    workers: int | Executor | None = None,
) -> list[dict]:
    """Inverse Gaussian mixtures by the EM algorithm of the R package bulkem.

    Parameters
    ----------
    datasets : list of 1-d arrays, or 2-d array of rows
    num_components : int
    max_iters : int
        EM iterations at most; one more pass is made.
    random_inits : int
        Random starts per data set: the maximum likelihood of three observations for each component, weights 1/K.
    epsilon : float
        Stop when the log-likelihood changes by less, absolutely.
    verbose : bool
        Show how many data sets are fitted.
    use_gpu : bool, optional
        As in the R package: True is ``device="cuda"``, False ``device="cpu"``.
    rng, device, workers
        As in `fit_many`.

    Returns
    -------
    list of dict
        Per data set: `lambda`, `mu`, `alpha` (arrays of K), `init_lambda`, `init_mu`, `init_alpha` of the best start, `loglik`,
        `num_iterations` (passes over the data), `fit_success` (the log-likelihood changed by less than `epsilon` before the
        iterations ended), and beyond the paper `status` and `message`. What is found is a local maximum: the likeliest of those
        that the starts lead to.

    Raises
    ------
    TypeError, ValueError
        For invalid options, `use_gpu` beside `device` among them. Bad data do not raise: their `status` and `message` say what is
        wrong.

    Notes
    -----
    The M-step has the old mean in lambda: 1/lambda = sum r (x - mu_old)^2 / (mu_old^2 x) / sum r. That is a generalised EM,
    whose log-likelihood never falls; `fit_many` uses the exact M-step. Unlike the R package this one reports the
    log-likelihood of the parameters it returns, takes starts without replacement on every device, fills every documented field
    and survives bad data.

    References
    ----------
    I. Howson, "bulkem: an R package that quickly fits mixture models using the EM algorithm on CUDA hardware" (2015).

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(3)
    >>> x = np.where(
    ...     rng.random(2000) < 0.3, rng.wald(1.0, 30.0, 2000), rng.wald(3.0, 0.2, 2000)
    ... )
    >>> best = ns.mixture.bulkem([x], random_inits=10, rng=1)[0]
    >>> sorted(best["alpha"].round(1).tolist())
    [0.3, 0.7]
    """
    one_number(num_components)
    if use_gpu is not None:
        if device is not None:
            raise ValueError(f"use_gpu={use_gpu!r} and device={device!r} both say where to compute; leave one of them out")
        device = "cuda" if use_gpu else "cpu"
    batch = fit_many(
        datasets,
        num_components,
        family="inverse_gaussian",
        method="bulkem",
        starts="subset",
        n_init=random_inits,
        tol=epsilon,
        max_iter=max_iters + 1,
        min_sd_ratio=0.0,
        min_count=0.0,
        rng=rng,
        device=device,
        workers=workers,
        progress=verbose,
    )
    K, D = num_components, len(batch)
    kept = batch.starts.get(K)
    first = {name: np.full((D, K), np.nan) for name in ("params", "centres", "weights")}
    if kept is not None:
        miss = np.abs(kept["loglik"] - batch.loglik[:, None])
        best = np.argmin(np.where(np.isnan(miss), np.inf, miss), axis=1)
        found = np.nonzero(np.isin(batch.status, FITTED))[0]
        for name, values in first.items():
            values[found] = kept[name][found, best[found]]
    met = f"the log-likelihood changed by less than epsilon={epsilon:g}"
    said = {0: f"{met}: a local maximum", 1: f"the {max_iters} iterations ended before {met}"}
    status = np.where((batch.status == 0) & (batch.n_iter > max_iters), 1, batch.status)  # the last pass is one more
    arrays = zip(batch.params[:, :K], batch.centres[:, :K], batch.weights[:, :K], *first.values(), strict=True)
    return [
        {
            **dict(zip(_FIELDS, row, strict=True)),
            "loglik": float(batch.loglik[d]),
            "num_iterations": int(batch.n_iter[d]),
            "fit_success": bool(status[d] == 0),
            "status": int(status[d]),
            "message": said[int(status[d])] if batch.status[d] == 0 else batch.message(d),
        }
        for d, row in enumerate(arrays)
    ]
