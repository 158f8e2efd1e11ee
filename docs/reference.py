"""What the site knows of pages: public names by what people do with them, and the words that people search for.

Names make the index of the API, and the sections of the pages of modules. A name is listed here, or it goes by a rule: distributions together, classes without `fit` among the results, all others where
``module.*`` stands. So a new name is on the site before anyone has thought of its place.
"""

import importlib
import inspect

PACKAGES = "distributions stable mixture kde kde.bandwidth bayes plot quantile random interop config testing".split()
SCALARS = "elementary special normal incomplete bessel samplers counts philox hyperbolic tables".split()

GROUPS = {
    "Fit a distribution": (
        "One series, with whatever is known of its values: :doc:`/fit_and_compare`, :doc:`/goodness`, :doc:`/lifetimes`.",
        "distributions.fit distributions.compare distributions.goodness distributions.survival distributions.lmoments "
        "stable.fit stable.goodness stable.profile stable.fit_quantile stable.fit_ecf stable.fit_small_alpha "
        "stable.fisher_information",
    ),
    "Fit many series at once": (
        "Rows of an array, groups of a frame, cells of a grid: :doc:`/many_fits`, :doc:`/standardised_indices`, :doc:`/scale`.",
        "distributions.fit_many distributions.compare_many distributions.goodness_many distributions.survival_many "
        "distributions.standardise stable.fit_many mixture.fit_many",
    ),
    "Find clusters: mixtures": (
        "How many groups there are, and who belongs to which: :doc:`/clusters`, :doc:`/subpackages/mixture`.",
        "mixture.fit mixture.Mixture mixture.bootstrap mixture.likelihood_ratio mixture.MixtureDiscriminantAnalysis mixture.*",
    ),
    "Estimate densities": (
        "Kernel densities of points, of groups, and of one variable given another: :doc:`/groups`, :doc:`/subpackages/kde`.",
        "kde.KDE kde.KDEClassifier kde.grid kde.points kde.at_samples kde.conditional kde.hdr_levels kde.*",
    ),
    "Choose a bandwidth": (
        ":doc:`/choosing` compares the rules.",
        "kde.bandwidth.*",
    ),
    "Regress": (
        "Regressions whose coefficients are mostly near 0, and whether their chains have converged: :doc:`/sparse_regression`, "
        ":doc:`/outcomes`, :doc:`/model_checks`.",
        "bayes.HorseshoeRegression bayes.HorseshoeClassifier bayes.HorseshoeProbit bayes.BayesProbit bayes.*",
    ),
    "Plot": ("One picture a call, all of them on :doc:`/plotting`.", "plot.*"),
    "Draw random numbers": (
        "The same draws for any number of threads: :doc:`/subpackages/random`, :doc:`/copulas`.",
        "random.*",
    ),
    "Distributions": (
        "Objects with densities, tails, quantiles, moments and draws: :doc:`/families` has their words, parameters and supports, "
        ":doc:`/subpackages/distributions` what they do.",
        "distributions.Distribution distributions.Landau",
    ),
    "Make distributions of others": (
        "A density of your own, truncated ones, sums with zeros, functions of a variable: :doc:`/your_own_distribution`.",
        "distributions.define distributions.truncate distributions.with_zeros distributions.Mixture distributions.exp "
        "distributions.log distributions.abs distributions.order_statistic mixture.NormalMixture mixture.StudentMixture",
    ),
    "Distributions as functions": (
        "Of data and parameters, which broadcast: :doc:`/subpackages/stable`.",
        "stable.pdf stable.logpdf stable.cdf stable.sf stable.ppf stable.isf stable.rvs stable.* stable.Stable "
        "distributions.Family distributions.FrozenDistribution distributions.*",
    ),
    "Quantiles": (
        "Of the normal distribution, of any density by a table, and maps between distributions: :doc:`/subpackages/quantile`.",
        "quantile.ndtri quantile.QuantileTable quantile.Certificate quantile.StudentSeries quantile.recycle quantile.*",
    ),
    "What fits return": (
        "Results: each prints as a table, which `summary` and `to_frame` give.",
        "distributions.DistributionFit distributions.DistributionFits Status",
    ),
    "In the place of SciPy and scikit-learn": (
        ":doc:`/coming_from/index` has old calls beside new ones.",
        "interop.gaussian_kde interop.*",
    ),
    "Options, devices, errors": (
        "Threads and devices of a process, compiling ahead, tests of accuracy: :doc:`/options`, :doc:`/devices`, "
        ":doc:`/first_calls`.",
        "warmup has_gpu config.* testing.* *",
    ),
}
WORDS = {  # each is found on its page first, by an entry of the index there
    "install": ["install", "pip", "conda", "windows", "macos"],
    "fit_and_compare": [
        "confidence interval",
        "standard error",
        "maximum likelihood",
        "profile likelihood",
        "bootstrap",
        "delta method",
        "aic",
        "bic",
        "model selection",
        "fit a distribution",
        "best distribution",
        "moments",
    ],
    "goodness": [
        "goodness of fit",
        "p-value",
        "kolmogorov-smirnov",
        "kolmogorov smirnov",
        "anderson-darling",
        "anderson darling",
        "cramer von mises",
        "normality test",
    ],
    "lifetimes": [
        "weibull",
        "kaplan meier",
        "kaplan-meier",
        "survival",
        "survival analysis",
        "censored",
        "censoring",
        "interval censored",
        "left truncation",
        "reliability",
        "turnbull",
        "limit of detection",
        "lifetime",
        "lifetimes",
    ],
    "return_levels": [
        "return period",
        "return level",
        "extreme values",
        "extremes",
        "gev",
        "gpd",
        "block maxima",
        "peaks over threshold",
        "threshold",
        "generalised pareto",
        "generalized pareto",
    ],
    "value_at_risk": [
        "value at risk",
        "var",
        "expected shortfall",
        "cvar",
        "es",
        "heavy tails",
    ],
    "counts": [
        "counts",
        "poisson",
        "negative binomial",
        "zero inflation",
        "zero-inflated",
        "overdispersion",
    ],
    "standardised_indices": [
        "spi",
        "spei",
        "standardised precipitation index",
        "drought",
    ],
    "groups": ["classifier", "contours", "groups", "highest density region"],
    "clusters": [
        "gaussian mixture",
        "clusters",
        "clustering",
        "number of clusters",
        "k-means",
        "mixture model",
        "mclust",
        "discriminant analysis",
        "latent classes",
        "outliers",
    ],
    "sparse_regression": [
        "sparse regression",
        "horseshoe",
        "lasso",
        "variable selection",
        "more columns than rows",
        "shrinkage",
    ],
    "outcomes": [
        "regression",
        "logistic regression",
        "poisson regression",
        "robust regression",
        "glm",
        "cox",
        "cox regression",
        "proportional hazards",
        "hazard ratio",
        "ordinal regression",
        "softmax",
        "multinomial regression",
        "beta regression",
        "hurdle model",
        "zero-truncated",
    ],
    "model_checks": [
        "posterior predictive check",
        "calibration",
        "pit",
        "variable selection by projection",
        "projpred",
        "model checks",
    ],
    "copulas": ["copula", "copulas", "quasi-random", "sobol", "dependence"],
    "your_own_distribution": [
        "custom distribution",
        "user-defined distribution",
        "own distribution",
        "define",
    ],
    "many_fits": ["many series", "batch", "groupby", "many fits"],
    "scale": [
        "dask",
        "joblib",
        "multiprocessing",
        "cluster of machines",
        "larger than memory",
    ],
    "own_kernels": ["njit", "cuda.jit", "own kernels"],
    "data": [
        "missing values",
        "nan",
        "missing data",
        "masked array",
        "pandas",
        "polars",
        "dtype",
        "nan_policy",
    ],
    "plotting": [
        "plot",
        "plots",
        "plotting",
        "figure",
        "histogram",
        "qq plot",
        "q-q plot",
        "matplotlib",
        "colours",
    ],
    "families": ["families", "list of distributions", "distributions"],
    "devices": ["gpu", "cuda", "cupy", "torch"],
    "options": ["workers", "threads", "out", "dtype option"],
    "choosing": ["bandwidth", "which distribution", "which sampler"],
    "first_calls": [
        "slow first call",
        "compile",
        "compilation",
        "warmup",
        "warm-up",
        "cache",
    ],
    "accuracy": ["accuracy", "precision", "error bounds"],
    "benchmarks": ["benchmark", "benchmarks", "speed", "performance"],
    "faq": ["seed", "random_state", "reproducible"],
    "citation": ["cite", "citation", "bibtex"],
    "licence": ["license", "licence"],
    "coming_from/scipy": ["scipy", "scipy.stats"],
    "coming_from/scikit_learn": ["scikit-learn", "sklearn"],
    "coming_from/numpyro": ["numpyro", "pymc", "stan"],
    "subpackages/kde": [
        "kernel density",
        "kde",
        "kernel density estimation",
        "conditional density",
    ],
    "subpackages/mixture": ["em algorithm", "gamma mixture"],
    "subpackages/bayes": ["bayesian regression", "mcmc", "probit"],
    "subpackages/stable": ["stable distribution", "alpha-stable", "levy"],
    "subpackages/random": ["random numbers", "simulation", "simulate", "rng"],
    "subpackages/quantile": ["quantile", "quantiles", "inverse cdf"],
}
DISTRIBUTIONS, RESULTS = "Distributions", "What fits return"


def _module(name):
    return importlib.import_module(f"numbastats.{name}".rstrip("."))


def _joined(module, name):
    return f"{module}.{name}".lstrip(".")


def names_of(module):
    """Public names of a module that are no modules; "" is the package."""
    loaded = _module(module)
    return [
        name
        for name in loaded.__all__
        if not inspect.ismodule(getattr(loaded, name))
    ]


def place(module, name, listed):
    """The heading that a name stands under."""
    from numbastats.distributions import Distribution

    thing, full = getattr(_module(module), name), _joined(module, name)
    if full in listed:
        return listed[full]
    if inspect.isclass(thing) and issubclass(thing, Distribution):
        return DISTRIBUTIONS
    if (
        inspect.isclass(thing)
        and not issubclass(thing, BaseException)
        and not hasattr(thing, "fit")
    ):
        return RESULTS
    return listed[_joined(module, "*")]


def grouped(modules=("", *PACKAGES)):
    """The headings with their sentences and names, as "kde.grid"; every public name of the modules once."""
    listed = {
        name: heading
        for heading, (_, names) in GROUPS.items()
        for name in names.split()
    }
    public = {
        _joined(m, n): place(m, n, listed) for m in modules for n in names_of(m)
    }
    order = {
        name: i
        for i, name in enumerate(
            [*listed, *(name for name in public if name not in listed)]
        )
    }
    found = {
        heading: sorted(
            (n for n, at in public.items() if at == heading), key=order.get
        )
        for heading in GROUPS
    }
    return {
        heading: (GROUPS[heading][0], names)
        for heading, names in found.items()
        if names
    }
