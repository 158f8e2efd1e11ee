"""Of calls in every sub-package: arguments of other libraries, lines of warnings, what a warmup compiles for them."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import numbastats as ns
from numbastats._core import warmup

X = np.arange(1.0, 9.0)
CALLS = {
    "KDE": (lambda **o: ns.kde.KDE(**o), "n_jobs", "workers"),
    "KDE.sample": (lambda **o: ns.kde.KDE().fit(X).sample(3, **o), "random_state", "rng"),
    "kde.grid": (lambda **o: ns.kde.grid(X, (0.0, 9.0, 5), **o), "n_jobs", "workers"),
    "kde.points": (lambda **o: ns.kde.points(X, X, **o), "bw_method", "bandwidth"),
    "Mixture": (lambda **o: ns.mixture.Mixture(2, family="gamma", **o), "random_state", "rng"),
    "mixture.fit": (lambda **o: ns.mixture.fit(X, 1, family="gamma", **o), "seed", "rng"),
    "mixture.fit_many": (lambda **o: ns.mixture.fit_many([X], 1, family="gamma", **o), "n_jobs", "workers"),
    "mixture.rvs": (lambda **o: ns.mixture.rvs([1.0], [1.0], [1.0], family="gamma", **o), "seed", "rng"),
    "stable.fit": (lambda **o: ns.stable.fit(X, **o), "n_jobs", "workers"),
    "stable.fit_many": (lambda **o: ns.stable.fit_many([X], **o), "n_jobs", "workers"),
    "stable.rvs": (lambda **o: ns.stable.rvs(1.5, 0.0, **o), "random_state", "rng"),
    "Stable.rvs": (lambda **o: ns.stable.Stable(1.5, 0.0).rvs(**o), "seed", "rng"),
    "standard_normal": (lambda **o: ns.quantile.standard_normal(**o), "seed", "rng"),
    "student_t.rvs": (lambda **o: ns.distributions.student_t(4.0).rvs(**o), "random_state", "rng"),
    "HorseshoeProbit": (lambda **o: ns.bayes.HorseshoeProbit(**o), "n_draws", "draws"),
    "BayesProbit": (lambda **o: ns.bayes.BayesProbit(**o), "num_chains", "chains"),
    "HorseshoeClassifier": (lambda **o: ns.bayes.HorseshoeClassifier(**o), "n_draws", "draws"),
    "HorseshoeRegression": (lambda **o: ns.bayes.HorseshoeRegression(**o), "random_state", "rng"),
    "truncnorm_rvs": (lambda **o: ns.bayes.truncnorm_rvs(X, **o), "seed", "rng"),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_room_explains_arguments_of_other_libraries(call):
    function, theirs, ours = CALLS[call]
    with pytest.raises(TypeError, match=f"has no argument '{theirs}': use {ours}="):
        function(**{theirs: 1})


def test_warnings_name_the_line_of_the_caller():
    with pytest.warns(ns.ConvergenceWarning) as seen:
        ns.stable.fit_quantile(ns.stable.rvs(0.1, 0.3, size=2000, rng=1))
    assert {w.filename for w in seen} == {__file__}


def test_warmup_knows_what_calls_take(run_python):
    """Numbers alone, and arrays alone: `exponential` of an array and a frozen hyperbolic were compiled when first called."""
    code = """
import numpy as np
import numbastats as ns
from numbastats._core.kernel import REGISTRY

for T in (np.float64, np.float32):
    one = "exponential weibull pareto standard_t chisquare"
    two = "uniform normal gamma beta wald polya_gamma laplace logistic gumbel"
    I, counts = (np.int64 if T == np.float64 else np.int32), ["poisson", "geometric", "binomial", "negative_binomial"]
    laws = [(law, 1, T) for law in one.split()] + [(law, 2, T) for law in two.split()] + [("truncnorm", 4, T)]
    for law, parameters, dtype in laws + [(law, 1 + i // 2, I) for i, law in enumerate(counts)]:
        for value in (1.0, np.ones(3)):
            getattr(ns.random, law)(*[value] * parameters, 3, rng=1, dtype=dtype, workers=1, device="cpu")
    ns.bayes.truncnorm_rvs(np.ones(3), rng=1, dtype=T, workers=1, device="cpu")
kernels = [k for k in REGISTRY.values() if k.name.startswith("random.")]
print(len(kernels), [k.name for k in kernels if set(k.serial.signatures) != {s for _, s in k.numba_signatures()}])
for beta in (0.3, [0.3, 0.5]):
    ns.distributions.hyperbolic(1.5, beta, 1.0).pdf(np.ones(2), device="cpu")
norm = REGISTRY["distributions.gh_log_norm"]
print(set(norm.serial.signatures) - {s for _, s in norm.numba_signatures()})
"""
    assert run_python(code).splitlines() == ["27 []", "set()"]


def test_kernels_of_the_tour_exist():
    """A list that is out of date costs time alone, but for names that are gone."""
    path = Path(__file__).parents[2] / "examples" / "tour_kernels.py"
    kernels = runpy.run_path(str(path))["KERNELS"]
    assert len(kernels) > 20 and [job.label for job in warmup._jobs(kernels, "cpu", True)] == kernels
