"""The fit of the generalised normal distribution: beside all values and a grid of beta; bounds; what it does not depend on."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special
import scipy.stats as st

from numbastats import Status
from numbastats.distributions import GeneralizedNormal, fit, fit_many
from tests.distributions.naive import gennorm_centre, gennorm_maximum, gennorm_profile

FAMILY = "generalized_normal"
LEAST, GREATEST = 0.0625, 1e6  # of beta
pytestmark = pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of few values, many of which have no maximum


def sample(rng, kind, n):
    if kind == "heavy":
        return st.gennorm.rvs(rng.choice([0.3, 0.5, 0.8, 1.0]), size=n, random_state=rng)
    if kind == "light":
        return st.gennorm.rvs(rng.choice([1.2, 1.5, 2.0, 4.0]), size=n, random_state=rng)
    if kind == "rounded":
        return np.round(3.0 * rng.laplace(size=n), int(rng.integers(2)))
    if kind == "tied":
        return np.where(rng.random(n) < 0.3, 0.0, rng.normal(size=n))
    if kind == "whole":
        return rng.integers(0, 6, n).astype(float)
    if kind == "contaminated":
        return np.r_[rng.normal(size=n - n // 10 - 1), rng.normal(size=n // 10 + 1) * rng.choice([10.0, 1e4])]
    if kind == "skewed":
        return rng.gamma(rng.choice([0.4, 1.0, 3.0]), size=n)
    return rng.normal(size=n) + np.where(rng.random(n) < 0.5, 0.0, rng.choice([3.0, 20.0]))


KINDS = ("heavy", "light", "rounded", "tied", "whole", "contaminated", "skewed", "bimodal")


def floors(x):
    """Log-likelihoods of the Laplace, the normal and the uniform distribution."""
    laplace = -x.size * (1.0 + math.log(2.0 * np.mean(np.abs(x - np.median(x)))))
    return laplace, -0.5 * x.size * (1.0 + math.log(2.0 * math.pi * x.var())), -x.size * math.log(np.ptp(x))


@pytest.mark.parametrize("kind", KINDS)
def test_beside_all_values_and_a_grid_of_beta(kind):
    """Of 12 sets; of 7,500 of all kinds none is below the grid's best, and none without a maximum where that has one."""
    rng = np.random.default_rng(KINDS.index(kind))
    sets = [sample(rng, kind, int(n)) for n in rng.choice([6, 10, 15, 20, 30, 40], 12)]
    found = fit_many(sets, FAMILY)
    for i, x in enumerate(sets):
        best, uniform = gennorm_maximum(x)
        laplace, normal, _ = floors(x)
        one, status = found.one(i), found.status[i]
        if status == Status.OK:
            assert one.loglik >= max(best, uniform, laplace, normal) - 1e-6
            assert one.loglik == pytest.approx(one.distribution.logpdf(x).sum(), rel=1e-12)
        elif status == Status.LIMIT:
            assert one.limit == "uniform" and one.params["beta"] == math.inf and uniform >= max(best, laplace, normal) - 1e-6
            assert one.loglik == pytest.approx(uniform, abs=1e-9)
        else:
            assert status == Status.POLE and max(best, uniform) < max(laplace, normal) + 1e-6
            assert np.isnan(list(one.params.values())).all()


def test_reports():
    """SciPy ends at -3348.24 with the thousand values; with the outlier the likelihood only rises towards beta = 0."""
    x = st.gennorm.rvs(0.5, size=1000, random_state=0)
    found = fit(x, FAMILY)
    assert found.converged and found.loglik == pytest.approx(-3348.23975, abs=1e-5) and found.params["loc"] in x
    x = [-2, -1, -0.4, -0.1, 0, 0.1, 0.3, 1.2, 2.8, 1000]
    found = fit(x, FAMILY)
    assert found.status == Status.POLE and not found.converged
    assert fit(x, FAMILY, fixed={"loc": 0.05}).status == Status.OK  # beside the values


def test_estimates_of_heavy_tails():
    """Of 20 sets of 200 values for each beta: none is less likely than SciPy's fit, medians are near the truth."""
    rng = np.random.default_rng(1)
    for beta in (0.4, 0.7, 0.9, 1.2):
        x = st.gennorm.rvs(beta, size=(20, 200), random_state=rng)
        found = fit_many(x, FAMILY)
        assert found.converged.all() and abs(np.median(found["beta"]) / beta - 1.0) < 0.1
        for i in range(2):
            assert found.loglik[i] >= st.gennorm.logpdf(x[i], *st.gennorm.fit(x[i])).sum() - 1e-7


@pytest.mark.filterwarnings("ignore:the weights.* add up:UserWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_fit_does_not_depend_on(kind):
    """Order, mirror, unit, and weights that are split or repetitions: the same status and optimum."""
    rng = np.random.default_rng(50 + KINDS.index(kind))
    for n in (7, 12, 25, 40):
        x, w = sample(rng, kind, n), rng.integers(1, 4, n)
        found, weighted = fit(x, FAMILY), fit(x, FAMILY, weights=w)
        others = [
            (found, rng.permutation(x), None, 1.0),
            (found, -x, None, 1.0),
            (found, np.r_[x, x], np.repeat([0.25, 0.75], n), 1.0),
        ]
        others += [(found, unit * x, None, unit) for unit in (1e-140, 8.0, 1e140)] + [(weighted, np.repeat(x, w), None, 1.0)]
        for one, y, weights, unit in others:
            other = fit(y, FAMILY, weights=weights)
            assert other.status == one.status
            if one.status != Status.POLE:
                shift = y.size * math.log(unit)
                assert other.loglik + shift == pytest.approx(one.loglik, abs=1e-7 + 1e-12 * abs(shift))


def test_bounds():
    """Evenly spread values are uniform, repeated ones make a pole, and tails may be too heavy."""
    found = fit(np.linspace(3.0, 5.0, 50), FAMILY)
    assert found.status == Status.LIMIT and found.limit == "uniform" and found.params["beta"] == math.inf
    assert found.params["loc"] == pytest.approx(4.0) and found.params["scale"] == pytest.approx(1.0, rel=1e-12)
    assert fit(np.r_[np.zeros(9), 1.0, 2.0, -3.0], FAMILY).status == Status.POLE
    rng = np.random.default_rng(4)
    heavy = rng.choice([-1.0, 1.0], 400) * rng.gamma(1.0 / 0.03, size=400) ** (1.0 / 0.03)
    found = fit(heavy, FAMILY)
    assert found.status == Status.BOUND and found.params["beta"] == LEAST and math.isfinite(found.loglik)


def test_fixed_parameters():
    """One fixed at its estimate gains nothing; Laplace's, the normal and other maxima in closed form or by searches."""
    rng = np.random.default_rng(8)
    for beta in (0.5, 1.5, 3.0):
        x = st.gennorm.rvs(beta, size=150, random_state=rng)
        free = fit(x, FAMILY)
        for names in (("beta",), ("loc",), ("scale",), ("beta", "loc"), ("beta", "scale"), ("loc", "scale")):
            found = fit(x, FAMILY, fixed={n: free.params[n] for n in names})
            assert found.converged and found.loglik == pytest.approx(free.loglik, abs=1e-8)
            assert found.params == pytest.approx(free.params, rel=1e-5, abs=1e-6) and all(found.se[n] == 0.0 for n in names)
    laplace, normal, _ = floors(x)
    assert fit(x, FAMILY, fixed={"beta": 1.0}).loglik == pytest.approx(laplace)
    assert fit(x, FAMILY, fixed={"beta": 2.0}).loglik == pytest.approx(normal)
    w = np.ones(x.size)
    found = fit(x, FAMILY, fixed={"beta": 0.3})
    assert found.loglik == pytest.approx(max(gennorm_profile(0.3, t, x, w) for t in x))
    assert fit(x, FAMILY, fixed={"beta": 1.2}).params["loc"] == pytest.approx(gennorm_centre(1.2, x, w), abs=1e-9)
    for scale in (0.3, 1.0, 2.0):
        found = fit(x, FAMILY, fixed={"scale": scale})
        grid = [
            max(st.gennorm.logpdf(x, b, t, scale).sum() for t in (found.params["loc"], x.mean()))
            for b in np.geomspace(0.1, 20, 300)
        ]
        assert found.converged and max(grid) - 1e-9 <= found.loglik < max(grid) + 0.1


@pytest.mark.parametrize("n", [700, 2500])
def test_all_values_of_large_samples(n):
    """Of 2,500, of which not all are searched, too."""
    x = st.gennorm.rvs(0.6, size=n, random_state=n)
    found = fit(x, FAMILY)
    beta, w = found.params["beta"], np.ones(n)
    assert found.loglik >= max(gennorm_profile(beta, t, x, w) for t in np.sort(x)[n // 4 : 3 * n // 4]) - 1e-9


def test_standard_errors():
    """Second differences above beta = 1.5; below, loc's expected information, as of a Laplace distribution; none up to 1/2."""
    x = st.gennorm.rvs(3.0, size=200, random_state=3)
    found = fit(x, FAMILY)
    at, h = np.array(list(found.params.values())), 1e-4 * np.eye(3)

    def value(p):
        return st.gennorm.logpdf(x, *p).sum()

    hessian = np.array(
        [[(value(at + a + b) - value(at + a - b) - value(at - a + b) + value(at - a - b)) / 4e-8 for a in h] for b in h]
    )
    np.testing.assert_allclose(found.covariance, np.linalg.inv(-hessian), rtol=1e-4, atol=1e-8)
    x = st.gennorm.rvs(0.8, size=500, random_state=3)
    found = fit(x, FAMILY)
    a, scale = 1.0 / found.params["beta"], found.params["scale"]
    expected = 500.0 / a**2 * scipy.special.gamma(2.0 - a) / scipy.special.gamma(a) / scale**2
    assert found.se["loc"] == pytest.approx(1.0 / math.sqrt(expected)) and 0.03 < found.se["beta"] < 0.1
    laplace = fit(x, FAMILY, fixed={"beta": 1.0})
    assert laplace.se["loc"] == pytest.approx(laplace.params["scale"] / math.sqrt(500.0))
    found = fit(st.gennorm.rvs(0.4, size=500, random_state=3), FAMILY)
    assert found.converged and math.isnan(found.se["loc"]) and found.se["scale"] > 0.0


def test_simulated_kernel():
    rng = np.random.default_rng(2)
    for kind in ("heavy", "light", "tied"):
        x = np.stack([sample(rng, kind, 12) for _ in range(2)])
        cpu, gpu = (fit_many(x, FAMILY, device=device) for device in ("cpu", "cuda"))
        assert (cpu.status == gpu.status).all()
        np.testing.assert_allclose(gpu.loglik, cpu.loglik, rtol=1e-9)
        np.testing.assert_allclose(gpu.params, cpu.params, rtol=1e-5)


def test_censored_values_with_heavy_tails():
    """Bounds on all but a few values change little; the climb knows starts with beta < 1."""
    x = np.sort(GeneralizedNormal(0.6).rvs(300, rng=5))
    low, high = x.copy(), x.copy()
    high[-5:] = np.inf
    found, exact = fit(None, FAMILY, censored=(low, high)), fit(x, FAMILY)
    assert abs(found.params["beta"] / exact.params["beta"] - 1.0) < 0.2
