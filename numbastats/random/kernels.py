"""Kernels of random draws: loops over counters, around the samplers of numbers."""

from __future__ import annotations

from numba import types

from numbastats._core.kernel import Kernel
from numbastats.scalar import counts, loops, samplers

__all__ = [
    "BETA",
    "BINOMIAL",
    "CHISQUARE",
    "COUNTS",
    "EXPONENTIAL",
    "GAMMA",
    "GEOMETRIC",
    "GUMBEL",
    "LAPLACE",
    "LOGISTIC",
    "NEGATIVE_BINOMIAL",
    "NORMAL",
    "PARETO",
    "POISSON",
    "POLYA_GAMMA",
    "STANDARD_T",
    "TRUNCNORM",
    "UNIFORM",
    "WALD",
    "WEIBULL",
]

_KEY = (types.uint32, types.uint32, types.uint32, types.int64)


def _words(name, head, tail, whole, parameters=2):
    """Kernels of a distribution with a fixed number of words per draw, by dtype name."""

    def make(dtype, per):
        return Kernel(
            f"random.{name}_{dtype}",
            loops.words_cpu,
            loops.words_cuda,
            lambda T: [(*_KEY, T, T, T[::1]), (*_KEY, *[T[::1]] * parameters, *[T] * (2 - parameters), T[::1])],
            dtypes=(dtype,),
            cpu_only={"_head": head, "_tail": tail},
            cuda_only={"_f": whole},
            _PER=per,
        )

    return {"float64": make("float64", 2), "float32": make("float32", 4)}


def _items(name, steps, item, *arrays, whole=False):
    """Kernel of a distribution whose draws take a varying number of words or way, of counts if they are `whole`.

    `steps`: first, second, try and finish of `items_cpu`; `arrays`: how many parameters may be arrays.
    """

    def signatures(T):
        outputs = (types.int64, types.int32) if whole else (T,)
        return [(*_KEY, *[T[::1]] * count, *[T] * (4 - count), out[::1]) for out in outputs for count in (0, *arrays)]

    return Kernel(
        f"random.{name}",
        loops.items_cpu,
        loops.items_cuda,
        signatures,
        dtypes=("float64",) if whole else ("float64", "float32"),
        cuda_only={"_f": item},
        cpu_only=dict(zip(("_first", "_second", "_try", "_finish"), steps, strict=True)),
    )


_LOG_CONCAVE = samplers.log_concave_first, samplers.gamma_second
_COUNT = counts.count_first, counts.count_second

UNIFORM = _words("uniform", samplers.uniform_head, samplers.uniform_tail, samplers.uniform_from_words)
NORMAL = _words("normal", samplers.normal_head, samplers.normal_tail, samplers.normal_from_words)
EXPONENTIAL = _words("exponential", samplers.exponential_head, samplers.exponential_tail, samplers.exponential_pair, 1)
LAPLACE = _words("laplace", samplers.laplace_head, samplers.located_tail, samplers.laplace_from_words)
LOGISTIC = _words("logistic", samplers.logistic_head, samplers.located_tail, samplers.logistic_from_words)
GUMBEL = _words("gumbel", samplers.gumbel_head, samplers.located_tail, samplers.gumbel_from_words)
WEIBULL = _words("weibull", samplers.exponential_head, samplers.weibull_tail, samplers.weibull_from_words, 1)
PARETO = _words("pareto", samplers.exponential_head, samplers.pareto_tail, samplers.pareto_from_words, 1)

GAMMA = _items(
    "gamma", (samplers.gamma_first, samplers.gamma_second, samplers.gamma_try, samplers.gamma_finish), samplers.gamma_item, 2
)
CHISQUARE = _items("chisquare", (*_LOG_CONCAVE, samplers.chisquare_try, samplers.chisquare_finish), samplers.chisquare_item, 1)
TRUNCNORM = _items(
    "truncnorm",
    (samplers.truncnorm_first, samplers.truncnorm_second, samplers.truncnorm_central, samplers.truncnorm_finish),
    samplers.truncnorm1,
    1,
    4,
)
BETA = _items("beta", (*_LOG_CONCAVE, samplers.beta_try, samplers.beta_finish), samplers.beta_item, 2)
WALD = _items("wald", (samplers.gamma_first, samplers.wald_second, samplers.wald_try, samplers.no_finish), samplers.wald_item, 2)
POLYA_GAMMA = _items(
    "polya_gamma",
    (samplers.gamma_first, samplers.wald_second, samplers.polya_gamma_try, samplers.polya_gamma_finish),
    samplers.polya_gamma_item,
    2,
)
STANDARD_T = _items(
    "standard_t",
    (samplers.standard_t_first, samplers.standard_t_second, samplers.standard_t_try, samplers.no_finish),
    samplers.standard_t_item,
    1,
)
POISSON = _items("poisson", (*_COUNT, counts.poisson_try, counts.poisson_finish), counts.poisson_item, 1, whole=True)
BINOMIAL = _items("binomial", (*_COUNT, counts.binomial_try, counts.binomial_finish), counts.binomial_item, 2, whole=True)
NEGATIVE_BINOMIAL = _items(
    "negative_binomial",
    (*_LOG_CONCAVE, counts.negative_binomial_try, counts.negative_binomial_finish),
    counts.negative_binomial_item,
    2,
    whole=True,
)
GEOMETRIC = _items(
    "geometric",
    (counts.geometric_first, counts.count_second, counts.geometric_try, samplers.no_finish),
    counts.geometric_item,
    1,
    whole=True,
)
COUNTS = POISSON, BINOMIAL, NEGATIVE_BINOMIAL, GEOMETRIC  # whose draws are integers
