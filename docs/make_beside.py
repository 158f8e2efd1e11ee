"""Try what numbastats, SciPy, scikit-learn and statsmodels offer, and write the table of docs/beside.md and of the README.

    pip install . "scikit-learn" "statsmodels" && python docs/make_beside.py

A "yes" is a call that returned numbers, without NaN. A "-" is the absence of a public name that contains one of the row's words; where
such a name is something else, it is given with the reason. The codes of the papers are C, CUDA and R: their column is read, not called.
"""

import datetime
import importlib
import pkgutil
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import scipy  # noqa: E402
import scipy.stats as st  # noqa: E402
import sklearn  # noqa: E402
import sklearn.linear_model  # noqa: E402
import sklearn.mixture  # noqa: E402
import sklearn.neighbors  # noqa: E402
import statsmodels  # noqa: E402
import statsmodels.api as sm  # noqa: E402
import statsmodels.distributions.copula.api as copulas  # noqa: E402
import statsmodels.duration.hazard_regression as hazards  # noqa: E402
import statsmodels.duration.survfunc as survfunc  # noqa: E402
import statsmodels.miscmodels.ordinal_model as ordinal  # noqa: E402

import numbastats as ns  # noqa: E402
from numbastats.distributions.catalogue import CLASSES  # noqa: E402

BEGIN, END = "<!-- beside: begin -->", "<!-- beside: end -->"
COLUMNS = ("numbastats", "SciPy", "scikit-learn", "statsmodels")
ROOTS = dict(
    zip(
        COLUMNS,
        ("numbastats", "scipy.stats", "sklearn", "statsmodels"),
        strict=True,
    )
)

rng = np.random.default_rng(1)
x = rng.gamma(2.0, 1.5, 300)
TWO = np.r_[rng.normal(0, 1, (150, 2)), rng.normal(5, 1, (150, 2))]
HOLES = np.where(rng.random(TWO.shape) < 0.05, np.nan, TWO)
SERIES = rng.gamma(2.0, 1.5, (20, 60))
SEEN = rng.random(300) < 0.7
WIDE, TALL = rng.normal(size=(40, 60)), rng.normal(size=(200, 4))
COUNTS, CLASS = (
    rng.poisson(np.exp(0.5 + 0.4 * TALL[:, 0])),
    TALL[:, 0] + rng.normal(size=200) > 0,
)
RIGHT = st.CensoredData(uncensored=x[SEEN], right=x[~SEEN])
QUICK = dict(chains=2, warmup=100, draws=100, rng=1)


def regression(X, y, model="HorseshoeRegression", given=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a hundred draws have not converged
        return (
            getattr(ns.bayes, model)(**QUICK, **options)
            .fit(X, y, **(given or {}))
            .coef_
        )


class Row(NamedTuple):
    """What it is; for each column None, a call, or a remark and a call; words of names that would offer it; the codes of the papers."""

    what: str
    cells: tuple
    words: str = ""
    paper: str = ""


def scipy_families():
    return sum(
        isinstance(v, st.rv_continuous | st.rv_discrete) for v in vars(st).values()
    )


def own_density():
    return ns.distributions.define(
        "Quartic", lambda z: -0.25 * z**4 - 0.941448934, support="real"
    )().ppf(0.3)


class OwnDensity:
    """A density as SciPy's generators take it."""

    def pdf(self, z):
        """The density, but for a constant."""
        return np.exp(-0.25 * z**4)


ROWS = (
    Row(
        "distributions of one variable",
        (
            (str(len(CLASSES)), lambda: ns.distributions.Gamma(2.0).cdf(x)),
            (str(scipy_families()), lambda: st.gamma(2.0).cdf(x)),
            None,
            (
                "some, of counts",
                lambda: sm.distributions.genpoisson_p.pmf(3, 2.0, 0.5, 1),
            ),
        ),
        "johnsonsu weibull_min",
    ),
    Row(
        "distributions of several variables",
        (None, lambda: st.multivariate_t([0, 0], df=3).pdf(TWO), None, None),
        "multivariate_t matrix_normal",
    ),
    Row(
        "stable distributions: tails and quantiles",
        (
            lambda: ns.stable.ppf(x / 50, 1.7, 0.2),
            lambda: st.levy_stable.cdf(x[:3], 1.7, 0.2),
            None,
            None,
        ),
        "levy_stable stable_cdf",
        "libstable",
    ),
    Row(
        "stable fits with standard errors",
        (
            lambda: ns.stable.fit(ns.stable.rvs(1.7, 0.2, size=300, rng=1)).se,
            (
                "no errors",
                lambda: st.levy_stable.fit_loc_scale(x, 1.7, 0.2),
            ),
            None,
            None,
        ),
        "levy_stable stable_cdf",
        "no errors",
    ),
    Row(
        "fits by maximum likelihood with standard errors",
        (
            lambda: list(ns.distributions.fit(x, "gamma").se.values()),
            ("no errors", lambda: st.gamma.fit(x)),
            None,
            None,
        ),
        "DistributionFit",
    ),
    Row(
        "fits to censored data",
        (
            lambda: ns.distributions.fit(x, "weibull", event=SEEN).loglik,
            ("no errors", lambda: st.weibull_min.fit(RIGHT, floc=0)),
            None,
            None,
        ),
        "CensoredData",
    ),
    Row(
        "fits to truncated data, zero-inflated ones",
        (
            lambda: (
                ns.distributions.fit(x, "gamma", truncated=(0.01, np.inf)).loglik
            ),
            None,
            None,
            (
                "counts, with columns",
                lambda: (
                    sm.ZeroInflatedPoisson(COUNTS * CLASS, np.ones((200, 1)))
                    .fit(disp=0)
                    .params
                ),
            ),
        ),
        "TruncatedFit ZeroInflated",
    ),
    Row(
        "goodness of fit, the parameters estimated",
        (
            lambda: ns.distributions.goodness(x, "gamma", rng=1, count=99).pvalue,
            lambda: st.goodness_of_fit(st.norm, x, n_mc_samples=99, rng=1).pvalue,
            None,
            ("normal, exponential", lambda: sm.stats.diagnostic.lilliefors(x)),
        ),
        "goodness lilliefors",
    ),
    Row(
        "thousands of fits in one call",
        (
            lambda: ns.distributions.fit_many(SERIES, "gamma").params,
            None,
            None,
            None,
        ),
        "fit_many",
    ),
    Row(
        "return levels with intervals",
        (
            lambda: ns.distributions.fit(x, "gev").return_level(50).value,
            None,
            None,
            None,
        ),
        "return_level",
    ),
    Row(
        "Kaplan-Meier",
        (
            lambda: ns.distributions.survival(x, event=SEEN).quantile(0.5),
            lambda: st.ecdf(RIGHT).sf.probabilities,
            None,
            lambda: survfunc.SurvfuncRight(x, SEEN).surv_prob,
        ),
        "ecdf Survfunc survival",
    ),
    Row(
        "the same of intervals (Turnbull)",
        (
            lambda: ns.distributions.survival(
                None, censored=(x * 0.9, x * 1.1)
            ).quantile(0.5),
            None,
            None,
            None,
        ),
        "turnbull",
    ),
    Row(
        "kernel densities",
        (
            lambda: ns.kde.points(TWO, TWO),
            ("Gaussian", lambda: st.gaussian_kde(TWO.T)(TWO.T)),
            lambda: sklearn.neighbors.KernelDensity().fit(TWO).score_samples(TWO),
            lambda: sm.nonparametric.KDEMultivariate(TWO, "cc").pdf(),
        ),
        "kde KernelDensity",
        "bounded kernels",
    ),
    Row(
        "kernel densities of categories, too",
        (
            None,
            None,
            None,
            lambda: sm.nonparametric.KDEMultivariate(
                np.c_[TWO[:, 0], np.arange(300) % 2], "cu"
            ).pdf(),
        ),
        "KDEMultivariate",
    ),
    Row(
        "matrices of bandwidths by plug-in rules",
        (lambda: ns.kde.bandwidth.plugin_matrix(TWO), None, None, None),
        "plugin_matrix",
    ),
    Row(
        "mixtures of normal distributions",
        (
            lambda: ns.mixture.fit(TWO, 2, rng=1).loglik,
            None,
            lambda: sklearn.mixture.GaussianMixture(2).fit(TWO).means_,
            None,
        ),
        "GaussianMixture",
        "",
    ),
    Row(
        "... with certificate and standard errors, or values missing",
        (
            lambda: (
                ns.mixture.fit(
                    HOLES, 2, nan_policy="marginal", se=True, rng=1
                ).loglik
            ),
            None,
            None,
            None,
        ),
        "MultivariateFit",
    ),
    Row(
        "... of t distributions, or beside noise",
        (
            lambda: (
                ns.mixture.fit(
                    TWO, 2, family="student_t", noise=True, covariance="full", rng=1
                ).loglik
            ),
            None,
            None,
            None,
        ),
        "MultivariateFit",
    ),
    Row(
        "... a test of their number",
        (
            lambda: ns.mixture.likelihood_ratio(TWO, 1, n_boot=19, rng=1).pvalue,
            None,
            None,
            None,
        ),
        "LikelihoodRatio",
    ),
    Row(
        "... of other distributions, in one dimension",
        (
            lambda: ns.mixture.fit(x, 2, family="gamma", rng=1).loglik,
            None,
            None,
            None,
        ),
        "MixtureFit",
        "inverse Gaussian",
    ),
    Row(
        "... with a Dirichlet prior",
        (
            None,
            None,
            lambda: (
                sklearn.mixture.BayesianGaussianMixture(n_components=2)
                .fit(TWO)
                .means_
            ),
            None,
        ),
        "BayesianGaussianMixture",
    ),
    Row(
        "sparse regression, point estimates",
        (
            None,
            None,
            lambda: sklearn.linear_model.LassoCV().fit(WIDE, WIDE[:, 0]).coef_,
            lambda: sm.OLS(WIDE[:, 0], WIDE).fit_regularized().params,
        ),
        "LassoCV fit_regularized",
    ),
    Row(
        "... by its posterior: horseshoe, more columns than rows",
        (
            lambda: regression(WIDE, WIDE[:, 0]),
            None,
            (
                "other prior",
                lambda: (
                    sklearn.linear_model.ARDRegression().fit(TALL, COUNTS).coef_
                ),
            ),
            None,
        ),
        "horseshoe",
        "probit",
    ),
    Row(
        "... of counts, shares, censored lifetimes",
        (
            lambda: regression(
                TALL, x[:200], response="weibull", given={"event": SEEN[:200]}
            ),
            None,
            None,
            None,
        ),
        "horseshoe",
    ),
    Row(
        "generalised linear models, Wald tests, formulas",
        (
            None,
            None,
            (
                "no errors",
                lambda: (
                    sklearn.linear_model.PoissonRegressor().fit(TALL, COUNTS).coef_
                ),
            ),
            lambda: sm.GLM(COUNTS, TALL, sm.families.Poisson()).fit().bse,
        ),
        "GLM PoissonRegressor",
    ),
    Row(
        "Cox regression",
        (
            lambda: regression(
                TALL, x[:200], response="cox", given={"event": SEEN[:200]}
            ),
            None,
            None,
            lambda: hazards.PHReg(x[:200], TALL, SEEN[:200]).fit().params,
        ),
        "PHReg",
    ),
    Row(
        "ordered outcomes",
        (
            lambda: regression(
                TALL,
                np.minimum(COUNTS, 3),
                "HorseshoeClassifier",
                response="ordinal",
            ),
            None,
            None,
            lambda: (
                ordinal.OrderedModel(np.minimum(COUNTS, 3), TALL).fit(disp=0).params
            ),
        ),
        "OrderedModel",
    ),
    Row(
        "copulas",
        (None, None, None, lambda: copulas.GaussianCopula(0.5).pdf([0.3, 0.4])),
        "Copula",
    ),
    Row(
        "time series models",
        (None, None, None, lambda: sm.tsa.ARIMA(x, order=(1, 0, 0)).fit().params),
        "ARIMA",
    ),
    Row(
        "quantiles of a density of your own",
        (
            own_density,
            lambda: st.sampling.NumericalInversePolynomial(OwnDensity()).ppf([0.3]),
            None,
            None,
        ),
        "NumericalInverse",
        "their own five",
    ),
)


def names_of(root):
    """Names of a package, and of its public modules, in lower case."""
    found = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # modules that only warn of their end
        for module in [
            root,
            *(
                m.name
                for m in pkgutil.walk_packages(
                    importlib.import_module(root).__path__, root + "."
                )
            ),
        ]:
            if any(
                part.startswith("_")
                or part in ("tests", "sandbox", "conftest", "externals")
                for part in module.split(".")
            ):
                continue
            try:
                found.update(
                    name.lower()
                    for name in dir(importlib.import_module(module))
                    if not name.startswith("_")
                )
            except (
                Exception
            ):  # modules that need what is not installed, and scripts
                continue
    return found


def cell(row, column, value, names):
    """The word for a cell, after its call or the search for its names."""
    if value is None:
        there = [
            name
            for name in names[column]
            for word in row.words.split()
            if word.lower() in name
        ]
        if there:
            raise SystemExit(f"{row.what}: {column} has {', '.join(there)}")
        return "-"
    remark, call = value if isinstance(value, tuple) else ("yes", value)
    with warnings.catch_warnings():
        if column != "numbastats":
            warnings.simplefilter(
                "ignore"
            )  # of a few iterations on data made up here
        result = np.asarray(call(), float)
    if not result.size or np.isnan(result).any():
        raise SystemExit(f"{row.what}: {column} gives {result}")
    return remark


def table():
    names = {column: names_of(root) for column, root in ROOTS.items()}
    lines = [
        f"| | {' | '.join(COLUMNS)} | codes of the papers |",
        "|---" * (len(COLUMNS) + 2) + "|",
    ]
    for row in ROWS:
        if not row.words:
            raise SystemExit(f"{row.what}: name the words that an offer would have")
        cells = [
            cell(row, column, value, names)
            for column, value in zip(COLUMNS, row.cells, strict=True)
        ]
        lines.append(f"| {row.what} | {' | '.join(cells)} | {row.paper or '-'} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main():
    text = table()
    versions = f"numbastats {ns.__version__}, SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}, statsmodels {statsmodels.__version__}"
    note = f"By `python docs/make_beside.py` on {datetime.date.today()}, which calls what is there and looks for names where nothing is: {versions}."
    for path in (HERE / "beside.md", HERE.parent / "README.md"):
        page = path.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        path.write_text(
            f"{before}{BEGIN}\n{text}\n\n{note}\n{END}{rest.split(END)[1]}",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
