"""Speed and mixing of the samplers of regressions with two classes and other responses."""

from __future__ import annotations

import functools
import tempfile
import time
import warnings

import numpy as np
import scipy.special

import numbastats as ns
from numbastats.bayes import kernels as k
from numbastats.bayes.likelihood import Rows
from numbastats.bayes.responses import RESPONSES
from numbastats.bayes.responses.record import facts_of_rows, record_of

from .common import SMOKE, Case, few, require

SAMPLERS = ["gibbs", "px-gibbs", "split-hmc", "surrogate"]
KEY = np.uint32(1), np.uint32(2)


@functools.cache
def synthetic(n, p):
    """The design of Terenin, Dong and Draper: standard normal columns, six coefficients of size 1 to 5."""
    rng = np.random.default_rng(1)
    X, b = rng.standard_normal((n, p)), np.zeros(p)
    b[:6] = [1.3, 4.0, -1.0, 1.6, 5.0, -2.0]
    return X, X @ b + rng.standard_normal(n) > 0, b


def signed(n, p, dtype):
    """Rows of the synthetic design times the sign of their outcome."""
    X, y, b = synthetic(n, p)
    return np.ascontiguousarray(X * np.where(y, 1.0, -1.0)[:, None], dtype), b


def stored(n, p, dtype):
    """`Rows` of integers from -127 to 127, multiples of 1/64 as floats, in a storage type; and coefficients."""
    K = np.random.default_rng(1).integers(-127, 128, (n, p)).astype(np.int8)
    b = 0.05 * np.random.default_rng(2).standard_normal((1, p))
    if dtype == "int8":
        return Rows(K, "cpu", 1, np.full(p, 1 / 64)), b
    if dtype == "bfloat16":  # seven significant bits
        return Rows(((K / np.float32(64)).view(np.uint32) >> np.uint32(16)).astype(np.uint16), "cpu", 1), b
    return Rows((K / 64).astype(dtype), "cpu", 1), b


def model(kind, **options):
    """A model with one chain per call of the benchmark's size."""
    return ns.bayes.BayesProbit(fit_intercept=False, sampler=kind, rng=1, workers=1, **options)


class Pass:
    """One pass over the rows for one chain and for four."""

    params = [["float64", "float32"], few([(10_000, 100), (100_000, 100), (10_000, 1000)]), [1, 4]]
    param_names = ["dtype", "rows, columns", "chains"]

    def setup(self, dtype, size, chains):
        X, b = signed(*size, dtype)
        self.rows, self.B = Rows(X, "cpu", 1), np.repeat(b[None], chains, axis=0)
        self.streams = np.arange(chains, dtype=np.uint32)
        self.time_loglik(dtype, size, chains)
        self.time_latent(dtype, size, chains)

    def time_loglik(self, dtype, size, chains):
        self.rows.loglik(self.B)

    def time_latent(self, dtype, size, chains):
        self.rows.latent(self.B, KEY, self.streams, 1)


class Storage:
    """One pass over the same rows in every storage type, and the memory they take."""

    params = [["float64", "float32", "bfloat16", "int8"], few([(100_000, 100), (10_000, 1000)])]
    param_names = ["dtype", "rows, columns"]

    def setup(self, dtype, size):
        self.rows, self.B = stored(*size, dtype)
        self.time_loglik(dtype, size)
        self.time_latent(dtype, size)

    def time_loglik(self, dtype, size):
        self.rows.loglik(self.B)

    def time_latent(self, dtype, size):
        self.rows.latent(self.B, KEY, np.zeros(1, np.uint32), 1)

    def track_bytes_per_entry(self, dtype, size):
        return self.rows.X.nbytes / self.rows.X.size

    track_bytes_per_entry.unit = "bytes"


class Reading:
    """One pass over rows in memory, in a memory map, and in blocks of 1000 that a callable gives."""

    params = ["array", "memory map", "callable"]
    param_names = ["rows"]

    def setup(self, kind):
        X, y, b = synthetic(20_000 if SMOKE else 200_000, 50)
        self.folder = tempfile.TemporaryDirectory()
        if kind == "memory map":
            np.save(f"{self.folder.name}/x.npy", X)
            X = np.load(f"{self.folder.name}/x.npy", mmap_mode="r")
        blocks = lambda: ((X[i : i + 1000], y[i : i + 1000]) for i in range(0, len(X), 1000))  # noqa: E731
        data = (blocks,) if kind == "callable" else (X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.fitted = model("gibbs", chains=1, warmup=0, draws=1, dtype="float64").fit(*data)
        self.B = b[None]
        self.time_loglik(kind)

    def teardown(self, kind):
        del self.fitted
        self.folder.cleanup()

    def time_loglik(self, kind):
        self.fitted._run.chains.rows.loglik(self.B)


class Sampling:
    """Effective draws per second of the slowest coefficient, and time of an iteration."""

    params = [SAMPLERS, few([(1000, 100), (10_000, 100)])]
    param_names = ["sampler", "rows, columns"]
    number = 1

    def setup(self, kind, size):
        self.X, self.y, _ = synthetic(*size)
        self.draws = 20 if SMOKE else 600
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model(kind, chains=1, warmup=50, draws=5).fit(self.X, self.y)
            self.fitted = model(kind, warmup=60 if SMOKE else 300, draws=self.draws).fit(self.X, self.y)

    def track_milliseconds_per_iteration_and_chain(self, kind, size):
        return self.fitted.stats_["ms_per_iteration"] / 4

    def track_effective_draws_per_second(self, kind, size):
        f = self.fitted
        share = ns.bayes.ess_bulk(f.draws_["beta"]).min() / f.draws_["log_tau"].size
        return 4e3 * share / f.stats_["ms_per_iteration"]

    track_milliseconds_per_iteration_and_chain.unit = "ms"
    track_effective_draws_per_second.unit = "effective draws / s"


@functools.cache
def responses():
    """500 rows of 30 columns, outcomes by response."""
    X, _, b = synthetic(10_000, 100)
    rng = np.random.default_rng(3)
    X, m = X[:500, :30], 0.3 * X[:500] @ b
    y = {"logit": m + rng.logistic(size=500) > 0, "poisson": rng.poisson(np.exp(0.3 * m)), "gaussian": m + rng.normal(size=500)}
    mean = np.exp(0.3 * m)
    y |= {"negative_binomial": rng.negative_binomial(2.0, 2.0 / (2.0 + mean)), "gamma": rng.gamma(2.0, 0.5 * mean)}
    y |= {"student_t": m + rng.standard_t(3.0, 500), "weibull": mean * rng.weibull(1.5, 500)}
    share = mean / (1.0 + mean)
    y |= {"zero_truncated_negative_binomial": 1.0 + y["negative_binomial"]}
    return X, y | {"cox": rng.exponential(1.0 / mean), "beta": rng.beta(9.0 * share, 9.0 - 9.0 * share)}


class Responses:
    """The pass of the other responses for one chain, and their estimators on a few hundred rows of standardised columns."""

    params = ["logit", "poisson", "gaussian", "negative_binomial", "student_t", "gamma", "weibull", "cox", "beta"]
    params += ["zero_truncated_negative_binomial"]
    param_names = ["response"]
    number = 1

    def setup(self, response):
        X, _, b = synthetic(10_000, 100)
        times = np.arange(10_000) % 997.0
        outcomes = facts_of_rows(None, None, [times, times, 0.0 * times] if response == "cox" else np.ones(10_000))
        self.rows = None if response == "gaussian" else Rows(X, "cpu", 1, response=response, facts=outcomes)
        self.B = np.concatenate([np.zeros(0 if self.rows is None else len(self.rows.own)), 0.1 * b])[None]
        X, y = responses()
        self.X, self.y = X, y[response]
        if response == "logit":
            self.model = ns.bayes.HorseshoeClassifier(rng=1, workers=1, warmup=300, draws=300)
        else:
            self.model = ns.bayes.HorseshoeRegression(response=response, rng=1, workers=1, warmup=300, draws=300)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.fit(self.X, self.y)
            self.time_pass(response)

    def time_pass(self, response):
        if self.rows is not None:
            self.rows.loglik(self.B)

    def time_fit(self, response):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.fit(self.X, self.y)

    def track_effective_draws_per_second(self, response):
        share = ns.bayes.ess_bulk(self.model.draws_["beta"]).min() / self.model.draws_["log_tau"].size
        return 4e3 * share / self.model.stats_["ms_per_iteration"]

    track_effective_draws_per_second.unit = "effective draws / s"


class ClassesOfRows:
    """Four chains' pass over 10^4 x 100 entries; fits of 1000 x 20 and 20,000 x 50: two classes, five, five in order."""

    params = ["two", "five", "ordered"]
    param_names = ["classes"]
    number = 1

    def setup(self, classes):
        rng = np.random.default_rng(5)
        self.data = {}
        for n, p in ((1000, 20), (20_000, 50)):
            X, b = rng.standard_normal((n, p)), np.zeros((5, p))
            b[1:, :2] = [[1.0, 0.0], [-1.0, 1.0], [0.5, 1.0], [2.0, -0.5]]
            y = np.argmax(X @ b.T + rng.gumbel(size=(n, 5)), axis=1)
            self.data[n] = X, y > 1 if classes == "two" else y
        response = "ordinal" if classes == "ordered" else "logit"
        self.model = ns.bayes.HorseshoeClassifier(response=response, sampler="split-hmc", rng=1, workers=1, warmup=100, draws=100)
        record = record_of(response).of_classes(tuple("01" if classes == "two" else "01234"))
        X = synthetic(10_000, 100)[0]
        y = np.ones(10_000) if classes == "two" else rng.integers(0, 5, 10_000)
        self.rows = Rows(X, "cpu", 1, response=record, facts=facts_of_rows(None, None, y))
        self.B = 0.1 * rng.standard_normal((4, self.rows.width))
        self.time_pass(classes)
        self._fit(1000)

    def _fit(self, n):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.fit(*self.data[n])

    def time_pass(self, classes):
        self.rows.loglik(self.B)

    def time_fit(self, classes):
        self._fit(1000)

    def time_fit_of_many_rows(self, classes):
        self._fit(20_000)


OTHERS = ["poisson", "negative_binomial", "student_t", "weibull", "cox"]  # which "predictor" samples


def other(response, X, rng):
    """Outcomes of these by four coefficients that matter."""
    m = 0.7 + X[:, :4] @ [0.9, -0.7, 0.5, 0.3]
    if response == "poisson":
        return rng.poisson(np.exp(m))
    if response == "negative_binomial":
        return rng.poisson(np.exp(m) * rng.gamma(3.0, 1.0 / 3.0, len(m)))
    if response == "student_t":
        return m + 0.6 * rng.standard_t(4.0, len(m))
    return np.exp(m) * rng.standard_exponential(len(m)) ** (1.0 if response == "cox" else 0.6)


class MoreColumnsThanRows:
    """Four coefficients that matter: effective draws of the intercept and the 20 largest coefficients, the least of them."""

    params = [["gaussian", "logit", "probit", *OTHERS], ["100 x 500", "200 x 2000", "72 x 3571"]]
    param_names = ["response", "size"]
    number, timeout = 1, 1800

    def setup(self, response, size):
        n, p = map(int, size.split(" x "))
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, p))
        if response in OTHERS:
            self._fit(ns.bayes.HorseshoeRegression, X, other(response, X, rng), response)
            return
        y = X[:, :4] @ [3.0, -2.0, 1.5, 1.0] + (rng.logistic(size=n) if response == "logit" else rng.standard_normal(n))
        y = y + 5.0 if response == "gaussian" else y > 0.0
        kind = ns.bayes.HorseshoeRegression if response == "gaussian" else ns.bayes.HorseshoeClassifier
        self._fit(kind, X, y, response)

    def _fit(self, kind, X, y, response):
        self.model = kind(response=response, rng=1, workers=1, draws=300, warmup=300)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.fit(X, y)

    def track_milliseconds_per_iteration_and_chain(self, response, size):
        return self.model.stats_["ms_per_iteration"] / self.model.chains

    track_milliseconds_per_iteration_and_chain.unit = "ms"

    def track_effective_draws_per_second(self, response, size):
        coef = self.model.coef_.ravel()
        draws = self.model.draws_["beta"][:, :, np.argsort(-abs(coef))[:20]]
        draws = np.concatenate([self.model.draws_["intercept"][:, :, None], draws], axis=2)
        share = ns.bayes.ess_bulk(draws).min() / self.model.draws_["log_tau"].size
        return 4e3 * share / self.model.stats_["ms_per_iteration"]

    track_effective_draws_per_second.unit = "effective draws / s"


class AfterAFit:
    """Checks, calibration and projection of 100 rows and 500 columns."""

    params = ["gaussian", "poisson", "student_t"]
    param_names = ["response"]
    number, timeout = 1, 600

    def setup(self, response):
        rng = np.random.default_rng(0)
        self.X = rng.standard_normal((100, 500))
        self.y = rng.standard_normal(100) + self.X[:, 0] if response == "gaussian" else other(response, self.X, rng)
        options = dict(rng=1, workers=1, chains=2, draws=500, warmup=300)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model = ns.bayes.HorseshoeRegression(response=response, **options).fit(self.X, self.y)

    def time_check(self, response):
        self.model.check(self.X, self.y, ["mean", "sd", "max"])

    def time_calibration(self, response):
        self.model.calibration(self.X, self.y)

    def time_projection(self, response):
        self.model.projection(self.X, self.y, 20)


def nuts(response, X, y, warmup, draws):
    """NumPyro's NUTS on the regularised horseshoe of `AgainstNUTS`; a function of a seed that samples coefficients (4, draws, p).

    The parameters are those of Piironen and Vehtari's own program: standard normals times their scales.
    """
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    classes = int(np.max(y)) + 1

    def posterior(X, y):
        p = X.shape[1]
        tau = numpyro.sample("tau", dist.HalfCauchy(1.0))
        scale = numpyro.sample("lambda", dist.HalfCauchy(1.0).expand([p])) * tau
        c2 = numpyro.sample("c2", dist.InverseGamma(2.0, 8.0))  # slab_df=4, slab=2
        sigma, flat = 1.0, dist.ImproperUniform(dist.constraints.real, (), ())
        if response == "gaussian":
            sigma = jnp.exp(numpyro.sample("log_sigma", flat))
        z = numpyro.sample("z", dist.Normal().expand([p]))
        b = numpyro.deterministic("b", sigma * z * scale * jnp.sqrt(c2 / (c2 + scale**2)))
        a = 0.0 if response == "ordinal" else numpyro.sample("a", dist.Normal(0.0, 10.0) if response == "logit" else flat)
        numpyro.sample("y", outcome(a + X @ b, sigma), obs=y)

    def outcome(m, sigma):
        inverse_square = lambda: numpyro.sample("u", dist.HalfNormal(1.0)) ** -2  # noqa: E731  sizes, shapes and precisions
        match response:
            case "logit":
                return dist.Bernoulli(logits=m)
            case "poisson":
                return dist.Poisson(jnp.exp(m))
            case "gaussian":
                return dist.Normal(m, sigma)
            case "negative_binomial":
                return dist.NegativeBinomial2(jnp.exp(m), inverse_square())
            case "student_t":
                df = 2.0 + numpyro.sample("excess", dist.Gamma(2.0, 0.1))
                return dist.StudentT(df, m, numpyro.sample("sigma", dist.HalfNormal(5.0)))
            case "gamma":
                shape = inverse_square()
                return dist.Gamma(shape, shape * jnp.exp(-m))
            case "weibull":
                return dist.Weibull(jnp.exp(m), 1.0 / numpyro.sample("sigma", dist.HalfNormal(1.0)))
            case "lognormal":
                return dist.LogNormal(m, numpyro.sample("sigma", dist.HalfNormal(1.0)))
            case "beta":
                share, precision = jax.nn.sigmoid(m), inverse_square()
                return dist.Beta(share * precision, (1.0 - share) * precision)
            case "ordinal":
                cuts = dist.TransformedDistribution(
                    dist.Normal(0.0, 3.0).expand([classes - 1]), dist.transforms.OrderedTransform()
                )
                return dist.OrderedLogistic(m, numpyro.sample("cuts", cuts))
        raise ValueError(f"{response} has no model here")

    options = dict(num_warmup=warmup, num_samples=draws, num_chains=4, chain_method="sequential", progress_bar=False)
    sampler = MCMC(NUTS(posterior, target_accept_prob=0.95), **options)

    def sample(seed):
        sampler.run(jax.random.PRNGKey(seed), jnp.asarray(X), jnp.asarray(y, int if response == "ordinal" else float))
        return np.asarray(sampler.get_samples(group_by_chain=True)["b"])

    return sample


class AgainstNUTS:
    """Effective draws of the slowest coefficient per second of processor time, four chains with their warmup, compiled before."""

    params = [["logit", "poisson", "gaussian"], ["ours", "NumPyro"]]
    param_names = ["response", "sampler"]
    number = 1
    timeout = 3600

    def setup(self, response, sampler):
        if sampler == "NumPyro":
            require("numpyro")
        X, y = responses()
        X, y, n = X / X.std(axis=0), y[response], 20 if SMOKE else 1000
        if sampler == "NumPyro":
            self.sample = nuts(response, X - X.mean(axis=0), y.astype(float), max(n // 2, 60), n)
        else:
            kind = ns.bayes.HorseshoeClassifier if response == "logit" else ns.bayes.HorseshoeRegression
            model = kind(response=response, slab=2.0, slab_df=4, warmup=max(n // 2, 60), draws=n, workers=1)
            self.sample = lambda seed: model.set_params(rng=seed).fit(X, y).draws_["beta"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.sample(1)

    def track_effective_draws_per_second(self, response, sampler):
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            draws = self.sample(2)
        return ns.bayes.ess_bulk(draws).min() / (time.process_time() - begin)

    track_effective_draws_per_second.unit = "effective draws / s"


class Callback:
    """What the callback is handed after 1000 draws of four chains."""

    def setup(self):
        X, y, _ = synthetic(1000, 10)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            draws = 20 if SMOKE else 1000
            self.fitted = model("split-hmc", warmup=60, draws=draws, callback=lambda state: None).fit(X, y)

    def time_state(self):
        self.fitted._run.progress()


class Functions:
    """The elementwise functions and the diagnostics."""

    def setup(self):
        self.x = np.random.default_rng(1).uniform(-9.0, 9.0, 16384)
        self.draws = np.random.default_rng(2).standard_normal((4, 1000, 20))
        for call in (self.time_log_ndtr, self.time_inv_mills, self.time_log_exe1, self.time_truncnorm_rvs):
            call()

    def time_log_ndtr(self):
        ns.bayes.log_ndtr(self.x)

    def time_inv_mills(self):
        ns.bayes.inv_mills(self.x)

    def time_log_exe1(self):
        ns.bayes.log_exe1(abs(self.x))

    def time_truncnorm_rvs(self):
        ns.bayes.truncnorm_rvs(self.x, rng=1)

    def time_diagnostics_of_20_coefficients(self):
        ns.bayes.rhat(self.draws), ns.bayes.ess_bulk(self.draws), ns.bayes.ess_tail(self.draws), ns.bayes.mcse(self.draws)


# --- peers ---------------------------------------------------------------------------------------------------------------


def _numpy_pass(n, p, dtype):
    def make():
        X, b = signed(n, p, dtype)
        rows, B, narrow = Rows(X, "cpu", 1), b[None], b.astype(dtype)

        def peer():
            m = (X @ narrow).astype(np.float64)
            value = scipy.special.log_ndtr(m)
            return value.sum(), X.T @ np.exp(-0.5 * m * m - 0.9189385332046727 - value).astype(dtype)

        return {"ours": lambda: rows.loglik(B), "NumPy and SciPy": peer}

    return make


def _mixing():
    """Calls that each give one effective draw of the slowest coefficient: their ratio is one of effective draws per second."""
    X, y, _ = synthetic(2000, 50) if SMOKE else synthetic(10_000, 100)
    calls = {}
    for name, kind, draws in (("ours", "surrogate", 300), ("the paper's sampler", "gibbs", 4000)):
        draws = 20 if SMOKE else draws
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            m = model(kind, warmup=60 if SMOKE else 300, draws=draws).fit(X, y)
        chains = m._run.chains
        share = ns.bayes.ess_bulk(m.draws_["beta"]).min() / m.draws_["log_tau"].size
        wanted = max(1, round(1.0 / (4.0 * share)))  # iterations of four chains
        calls[name] = functools.partial(_advance, chains, wanted)
    return calls


def _advance(chains, iterations):
    for _ in range(iterations):
        chains.advance()


PEER_CASES = {
    "probit log-likelihood and gradient, 10^5 x 100": Case(10**5, _numpy_pass(100_000, 100, "float64"), {"NumPy and SciPy": 1.4}),
    "probit pass in float32, 10^4 x 1000": Case(10**4, _numpy_pass(10_000, 1000, "float32"), {"NumPy and SciPy": 1.4}),
    "probit posterior, an effective draw, 10^4 x 100": Case(1, _mixing, {"the paper's sampler": 100.0}),
}

# --- CUDA ----------------------------------------------------------------------------------------------------------------


def _one(*values):
    return [np.array([v]) for v in values]


def gpu_pass(rng, dtype, n, edges):
    columns = 8 if n < 1000 else 128
    rows = max(300, n // columns)
    X = np.ascontiguousarray(rng.standard_normal((rows, columns)), dtype)
    B = np.ascontiguousarray(0.3 * rng.standard_normal((2, columns)), dtype)
    chunk = 64 if n < 1000 else 1024
    chunks = -(-rows // chunk)
    inputs = [X, B, *_one(*KEY), np.array([6, 13], np.uint32), *_one(np.uint32(3), 128, chunk, 64)]
    facts = np.stack([rng.uniform(0.5, 2.0, 128 + rows), rng.standard_normal(128 + rows), rng.poisson(2.0, 128 + rows)])
    inputs.append((facts, np.zeros((1, 2))))
    return inputs, [np.zeros((chunks, 2, columns), dtype), np.zeros((chunks, 2))]


def gpu_general(rng, dtype, n, edges):
    (*inputs, (facts, _)), (sums, totals) = gpu_pass(rng, dtype, n, edges)
    upper = np.where(rng.uniform(size=facts.shape[1]) < 0.5, facts[2], np.inf)
    return [*inputs, (np.vstack([facts, upper]), 0.3 * rng.standard_normal((2, 2)))], [sums, np.zeros((len(totals), 6))]


def gpu_values(rng, dtype, n, edges):
    rows = max(100, n // 8)
    y = rng.poisson(2.0, rows)
    return [np.stack([y, y]), rng.standard_normal((rows, 4)), 0.3 * rng.standard_normal((4, 2))], [np.zeros((3, rows, 4))]


def gpu_int8(rng, dtype, n, edges):
    (X, B, *rest), outputs = gpu_pass(rng, dtype, n, edges)
    return [rng.integers(-127, 128, X.shape, np.int8), B / 64, *rest], outputs


def gpu_bfloat16(rng, dtype, n, edges):
    (X, *rest), outputs = gpu_pass(rng, dtype, n, edges)
    return [(X.view(np.uint32) >> np.uint32(16)).astype(np.uint16), *rest], outputs


def _chains(n):
    chains, p = (3, 20) if n < 1000 else (max(8, n // 10_000), 1000)
    streams = np.arange(k.STAGES * chains, dtype=np.uint32).reshape(k.STAGES, chains)
    return chains, p, [*_one(*KEY), streams, *_one(np.uint32(3))]


def gpu_scales(rng, dtype, n, edges):
    chains, p, random = _chains(n)
    inputs = [rng.standard_normal((chains, p)), np.full((chains, p), 0.5), *_one(1, 1.0, False), *random]
    return inputs, [np.full(chains, -1.0), np.ones((chains, p))]


def gpu_conditionals(rng, dtype, n, edges):
    (B, _, *inputs), outputs = gpu_scales(rng, dtype, n, edges)
    chains, p = B.shape
    return [B, *inputs], [np.ones((chains, 2, p)), np.ones((chains, 2)), *outputs]


def gpu_draws(rng, dtype, n, edges):
    chains, p, random = _chains(n)
    return [*random], [np.zeros((chains, p)), np.zeros((chains, 2))]


def gpu_gamma(rng, dtype, n, edges):
    chains, _, random = _chains(n)
    return [*random, *_one(500.0)], [np.zeros(chains)]


def gpu_totals(rng, dtype, n, edges):
    chunks = 3 if n < 1000 else 245
    p = max(5, n // (2 * chunks))
    return [rng.standard_normal((chunks, 2, p)).astype(dtype), rng.standard_normal((chunks, 2))], [np.zeros((2, p)), np.zeros(2)]


def gpu_map(low, high):
    return lambda rng, dtype, n, edges: ([rng.uniform(low, high, n).astype(dtype)], None)


GPU_MAKERS = {
    "bayes.*_int8": gpu_int8,
    "bayes.*_bfloat16": gpu_bfloat16,
    "bayes.latent": gpu_pass,
    "bayes.rows_*": gpu_general,
    "bayes.values_*": gpu_values,
    **{f"bayes.{word}": gpu_pass for word, record in RESPONSES.items() if not record.general},
    "bayes.scales_*": gpu_scales,
    "bayes.conditionals": gpu_conditionals,
    "bayes.draws": gpu_draws,
    "bayes.gamma": gpu_gamma,
    "bayes.totals": gpu_totals,
    "bayes.log_exe1": gpu_map(1.0, 30.0),
    "bayes.*": gpu_map(-30.0, 9.0),
}
_ORDER = "another order of summation"
_PASS = dict(ulp=65536.0, floor=100.0, single=2e9, why=f"{_ORDER}; sums of rows in float32: 2e9 ulp are 4e-7")
GPU_BOUNDS = {
    "bayes.latent*": _PASS,
    **{f"bayes.{word}*": _PASS for word, record in RESPONSES.items() if not record.general},
    "bayes.rows_*": _PASS,
    "bayes.values_*": dict(ulp=4096.0, floor=1.0, why="differences of log gamma functions and of tails cancel"),
    "bayes.scales_*": dict(ulp=1e6, floor=1.0, flips=1e-3, why=f"{_ORDER} in the density of tau, on which all scales depend"),
    "bayes.conditionals": dict(ulp=1e6, floor=1.0, flips=1e-3, why=f"{_ORDER} in the distribution of tau"),
    "bayes.gamma": dict(ulp=512.0, floor=1.0, flips=1e-4, why="an accept/reject decision of a gamma draw may flip"),
}


def whole_job(report, timed):
    """The public call on the device."""
    X, y, _ = synthetic(200_000, 200)
    fit = lambda: ns.bayes.HorseshoeProbit(chains=4, warmup=60, draws=20, dtype="float32", device="cuda", rng=1).fit(X, y)  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report.jobs.append(
            ("bayes.HorseshoeProbit, 200000 x 200, 80 iterations of 4 chains", "float32", timed(fit), "host arrays in")
        )


GPU_JOBS = (whole_job,)
