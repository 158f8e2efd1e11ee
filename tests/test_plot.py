"""Plots: what is drawn, read back from the axes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import numbastats as ns

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture
def ax():
    from matplotlib import pyplot

    yield pyplot.figure().subplots()
    pyplot.close("all")


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + rng.normal(size=80) > 0
    with pytest.warns(ns.ConvergenceWarning):  # 60 draws are too few for a posterior, and enough for a plot
        return ns.bayes.HorseshoeProbit(draws=60, warmup=50, chains=2, rng=1).fit(X, y)


def line(ax, label):
    """Points of the line with this label."""
    (found,) = (one for one in ax.lines if one.get_label() == label)
    return found.get_xdata(), found.get_ydata()


def test_greys_are_those_of_the_style():
    """Lines, points and bands show on black, too, and colours are those of the style's cycle."""
    from matplotlib import pyplot

    x = ns.random.normal(size=50, rng=1)
    with pyplot.style.context("dark_background"):
        ax = ns.plot.qq(x)
        diagonal, data = ax.lines
        assert diagonal.get_color() == (1.0, 1.0, 1.0)
        assert data.get_color() == pyplot.rcParams["axes.prop_cycle"].by_key()["color"][0]
        band = ax.collections[0].get_facecolor()[0]
        assert band[:3] == pytest.approx([0.12] * 3)
        steps = ns.plot.survival(np.abs(x)).lines[0]
        assert steps.get_color() == pytest.approx((0.7,) * 3)
    ax = ns.plot.qq(x)
    assert ax.lines[0].get_color() == (0.0, 0.0, 0.0)
    assert ax.collections[0].get_facecolor()[0][:3] == pytest.approx([0.88] * 3)
    pyplot.close("all")


def test_tail_has_shares_of_the_data_and_of_distributions(ax):
    x = np.array([-5.0, -1.0, 0.0, 1.0, 2.0, 4.0, np.nan])
    assert ns.plot.tail(x, {"normal": ns.distributions.Normal(0.0, 2.0)}, ax=ax) is ax
    at, share = line(ax, "data")
    assert at.tolist() == [1.0, 2.0, 4.0]
    np.testing.assert_allclose(share, [3 / 6, 2 / 6, 1 / 6], rtol=1e-15)
    grid, survival = line(ax, "normal")
    np.testing.assert_allclose(survival, scipy.stats.norm.sf(grid, 0.0, 2.0), rtol=1e-12)
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_lower_tail(ax):
    ns.plot.tail([-5.0, -1.0, 0.0, 3.0], scipy.stats.norm(0.0, 2.0), side="lower", ax=ax)
    assert [a.tolist() for a in line(ax, "data")] == [[1.0, 5.0], [0.5, 0.25]]
    grid, share = ax.lines[1].get_xdata(), ax.lines[1].get_ydata()
    np.testing.assert_allclose(share, scipy.stats.norm.cdf(-grid, 0.0, 2.0), rtol=1e-12)


def test_tail_of_one_side_only(ax):
    with pytest.raises(ValueError, match="no value is > 0"):
        ns.plot.tail([-1.0, -2.0], ax=ax)
    with pytest.raises(ValueError, match="pass one series"):
        ns.plot.tail(np.ones((2, 2)), ax=ax)
    with pytest.raises(ValueError, match="infinite"):
        ns.plot.tail([1.0, np.inf], ax=ax)


@pytest.mark.parametrize("x", [np.random.default_rng(2).standard_cauchy(3000), np.ones(5)], ids=["cauchy", "constant"])
def test_density_is_of_unit_scale(ax, x):
    ns.plot.density(x, [ns.distributions.StudentT(1.0)], ax=ax)
    values, edges, _ = ax.patches[0].get_data()
    mass = np.sum(values * np.diff(edges))
    assert 0.99 < mass <= 1.0 + 1e-12
    grid, pdf = line(ax, "student t")
    np.testing.assert_allclose(pdf, scipy.stats.cauchy.pdf(grid), rtol=1e-12)


def test_qq_of_a_sample_and_its_band(ax):
    x = np.random.default_rng(3).exponential(size=200)
    ns.plot.qq(x, scipy.stats.expon(), level=0.9, ax=ax)
    expected, ordered = line(ax, "data")
    np.testing.assert_array_equal(ordered, np.sort(x))
    np.testing.assert_allclose(expected, scipy.stats.expon.ppf((np.arange(200) + 0.5) / 200), rtol=1e-12)
    draws = np.sort(np.random.default_rng(4).exponential(size=(4000, 200)), axis=1)
    (band,) = ax.collections
    vertices = band.get_paths()[0].vertices
    at = expected[100]
    low, high = np.unique(vertices[np.isclose(vertices[:, 0], at), 1])
    assert np.mean((draws[:, 100] > low) & (draws[:, 100] < high)) == pytest.approx(0.9, abs=0.02)


def test_qq_takes_the_normal_distribution_by_default(ax):
    x = np.random.default_rng(5).normal(3.0, 2.0, 50)
    ns.plot.qq(x, ax=ax)
    expected, _ = line(ax, "data")
    np.testing.assert_allclose(expected, scipy.stats.norm.ppf((np.arange(50) + 0.5) / 50, x.mean(), x.std()), rtol=1e-12)


def test_fits_are_drawn_as_their_distributions(ax):
    x = ns.random.normal(1.0, 2.0, size=50, rng=1)
    fit = ns.distributions.fit(x, "normal")
    for plot, one in ((ns.plot.density, {"fit": fit}), (ns.plot.tail, fit), (ns.plot.qq, fit)):
        of_fit = [line.get_xydata() for line in plot(x, one, ax=ax).lines]
        ax.clear()
        of_distribution = [line.get_xydata() for line in plot(x, fit.distribution, ax=ax).lines]
        ax.clear()
        assert len(of_fit) == len(of_distribution)
        for a, b in zip(of_fit, of_distribution, strict=True):
            np.testing.assert_array_equal(a, b)
    for plot, method in ((ns.plot.density, "pdf"), (ns.plot.tail, "sf"), (ns.plot.qq, "ppf")):
        with pytest.raises(TypeError, match=f"'normal' is no distribution: it has no method {method}; pass one, a fit"):
            plot(x, "normal", ax=ax)


def test_contours_hold_the_shares_they_say(ax):
    samples = np.random.default_rng(6).normal(size=(2000, 2))
    ns.plot.contours(samples, masses=[0.9, 0.5], ax=ax)
    (lines,) = (c for c in ax.collections if hasattr(c, "levels"))
    inside = [np.mean(ns.kde.KDE().fit(samples).points(samples) >= level) for level in lines.levels]
    assert inside == pytest.approx([0.9, 0.5], abs=0.01)
    with pytest.raises(ValueError, match=r"\(n, 2\)"):
        ns.plot.contours(samples.T, ax=ax)


def test_contours_and_densities_of_groups(ax):
    rng = np.random.default_rng(6)
    samples, label = rng.normal(size=(600, 2)), np.repeat(["x", "y"], 300)
    samples[300:] += 3.0
    ns.plot.contours(samples, by=label, masses=[0.5, 0.9], ax=ax)
    sets = [c for c in ax.collections if hasattr(c, "levels")]
    for key, lines in zip("xy", sets, strict=True):
        own = ns.kde.KDE().fit(samples[label == key])
        inside = [np.mean(own.points(samples[label == key]) >= level) for level in lines.levels]
        assert inside == pytest.approx([0.9, 0.5], abs=0.01)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["x", "y"]
    ax.clear()
    ns.plot.densities(samples[:, 0], label, kde=ns.kde.KDE("biweight"), shared=True, ax=ax)
    shared = ns.kde.KDE("biweight").fit_by(samples[:, 0], label, shared=True)
    for key, one in shared.items():
        grid, value = line(ax, f"{key} (n = 300)")
        np.testing.assert_allclose(value, one.pdf(grid), rtol=1e-12)
    with pytest.raises(ValueError, match="one variable"):
        ns.plot.densities(samples, label, ax=ax)
    with pytest.raises(ValueError, match="pass by="):
        ns.plot.contours(samples, shared=True, ax=ax)


def test_mixture_is_the_sum_of_its_components(ax):
    rng = np.random.default_rng(7)
    x = np.concatenate([rng.normal(-2, 1, 300), rng.normal(3, 0.5, 200)])
    fit = ns.mixture.fit(x, 2, family="normal", rng=0)
    ns.plot.mixture(fit, x, ax=ax)
    grid, total = line(ax, "mixture")
    parts = [line(ax, f"component {k}")[1] for k in (1, 2)]
    np.testing.assert_allclose(np.sum(parts, axis=0), total, rtol=1e-12)
    w, m, s = fit.weights, fit.means, np.sqrt(fit.params)
    np.testing.assert_allclose(parts[0], w[0] * scipy.stats.norm.pdf(grid, m[0], s[0]), rtol=1e-9, atol=1e-300)


def clusters(d=2):
    """A fit of two components and its rows."""
    rng = np.random.default_rng(7)
    x = np.concatenate([rng.normal(-3, 1, (300, d)), rng.normal(3, 0.5, (200, d)) * np.linspace(1.0, 2.0, d)])
    return ns.mixture.fit(x, 2, covariance="full", rng=0), x


def test_ellipses_hold_the_masses_they_say(ax):
    fit, x = clusters()
    ns.plot.mixture(fit, [*x.tolist(), [np.nan, 0.0]], masses=[0.8, 0.5], ax=ax)
    rings = [one.get_xydata() for one in ax.lines if len(one.get_xdata()) == 181]
    assert len(rings) == 4
    for k in range(2):
        part = fit.component_distributions[k]
        draws = part.rvs(20_000, rng=1)
        for ring, mass in zip(rings[2 * k : 2 * k + 2], (0.5, 0.8), strict=True):
            edge = part.logpdf(ring)  # the ellipse is a contour of its component
            np.testing.assert_allclose(edge, edge[0], rtol=1e-10)
            assert np.mean(part.logpdf(draws) > edge[0]) == pytest.approx(mass, abs=0.01)
    assert ax.get_legend().get_title().get_text() == "ellipses: 50 % and 80 % of each"
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["component 1", "component 2"]
    dots = [len(one.get_xdata()) for one in ax.lines if one.get_marker() == "."]
    assert dots == np.bincount(fit.predict(x)).tolist() and ax.get_xlabel() == "column 0"


def test_pairs_of_columns_and_one_column():
    from matplotlib import pyplot

    fit, x = clusters(3)
    axes = ns.plot.mixture(fit, x)
    assert axes.shape == (3, 3) and [one.get_visible() for one in axes.ravel()] == [1, 0, 1, 1, 1, 0, 1, 1, 1]
    legends = [one.get_legend() for one in axes.ravel() if one.get_legend() is not None]
    assert [one.get_title().get_text() for one in legends] == ["ellipses: 50 % and 90 % of each"]
    ring = next(one.get_xydata() for one in axes[2, 1].lines if len(one.get_xdata()) == 181)
    part = fit.marginal([1, 2]).component_distributions[0]
    np.testing.assert_allclose(part.logpdf(ring), part.logpdf(ring[0]), rtol=1e-10)
    grid, total = line(axes[1, 1], "mixture")
    np.testing.assert_allclose(total, fit.marginal([1]).pdf(grid[:, None]), rtol=1e-12)
    parts = [line(axes[1, 1], f"component {k}")[1] for k in (1, 2)]
    np.testing.assert_allclose(np.sum(parts, axis=0), total, rtol=1e-12)
    assert (axes[2, 1].get_xlabel(), axes[2, 1].get_ylabel()) == ("column 1", "column 2")
    assert ns.plot.mixture(fit.marginal([0])).get_xlabel() == "column 0"
    wide = ns.mixture.fit(np.random.default_rng(1).normal(size=(60, 7)), 1)
    for draw, words in (
        (lambda: ns.plot.mixture(fit, x, masses=[50]), "between 0 and 1"),
        (lambda: ns.plot.mixture(fit, x[:, :2]), "3 columns of the fit"),
        (lambda: ns.plot.mixture(wide), "pass fit.marginal"),
        (lambda: ns.plot.mixture(fit, ax=axes[0]), "ax has 3 axes; a fit of 3 columns is drawn into 9"),
    ):
        with pytest.raises(ValueError, match=words):
            draw()
    with pytest.raises(TypeError, match=r"is a MultivariateBatch of 1 fits; pass one of them, as fits\[0\]"):
        ns.plot.mixture(ns.mixture.fit_many([x], 2))
    pyplot.close("all")


def test_criteria_of_one_dimension_and_of_models(ax):
    rng = np.random.default_rng(7)
    x = np.concatenate([rng.normal(-2, 1, 300), rng.normal(3, 0.5, 200)])
    one = ns.mixture.fit(x, range(1, 5), rng=0)
    ns.plot.criteria(one, ax=ax)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [1, 2, 3, 4])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), one.selection["criterion"])
    assert [float(v[0]) for v in line(ax, "chosen")] == [one.n_components, one.selection["criterion"].min()]
    ax.clear()
    _, rows = clusters()
    several = ns.mixture.fit(rows, range(1, 4), covariance=["full", "tied"], rng=0)
    ns.plot.criteria(several, "icl", ax=ax)
    table = several.selection
    for model in ("full", "tied"):
        at = table["covariance"] == model
        np.testing.assert_array_equal(line(ax, model)[1], table["icl"][at])
        np.testing.assert_array_equal(line(ax, model)[0], table["n_components"][at])
    assert ax.get_ylabel() == "ICL, less is better"
    hollow = sum(len(one.get_xdata()) for one in ax.lines if one.get_markerfacecolor() == "white")
    assert hollow == np.sum(table["status"] != 0)
    with pytest.raises(ValueError, match="criterion='hqc' is not known"):
        ns.plot.criteria(several, "hqc")
    failed = ns.mixture.fit(np.ones((5, 2)), 2, errors="status")
    with pytest.raises(ValueError, match="no criterion to draw: all rows are equal"):
        ns.plot.criteria(failed)


def test_forest_shows_means_and_intervals(ax, model):
    table = model.summary(0.8)
    ns.plot.forest(model, level=0.8, sort=False, ax=ax)
    means = ax.lines[0].get_xdata()
    np.testing.assert_array_equal(means[::-1], table["mean"][1:4])
    (bars,) = ax.collections
    ends = np.array([segment[:, 0] for segment in bars.get_segments()])[::-1]
    np.testing.assert_allclose(ends, np.stack([table["lower"], table["upper"]], axis=1)[1:4], rtol=1e-12)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["x2", "x1", "x0"]


def bands(ax):
    """Vertices of all bars and bands, and the texts that name levels."""
    return [path.vertices.tolist() for one in ax.collections for path in one.get_paths()], ax.get_legend_handles_labels()[1]


def test_levels_stand_in_plots_and_have_their_former_names_for_a_release(model):
    from matplotlib import pyplot

    x = np.random.default_rng(3).normal(size=50)
    for draw, former in ((lambda **o: ns.plot.forest(model, **o), "prob"), (lambda **o: ns.plot.qq(x, **o), "confidence")):
        now = draw(level=0.9)
        with pytest.warns(DeprecationWarning, match=f"{former}= of .*is level= now") as told:
            before = draw(**{former: 0.9})
        assert told[0].filename == __file__ and bands(now) == bands(before)
        assert bands(draw()) == bands(draw(level=0.95)) != bands(now)
        with pytest.raises(TypeError, match="pass level= alone"):
            draw(level=0.9, **{former: 0.9})
        with pytest.raises(TypeError, match="'confidence_level': use level="):
            draw(confidence_level=0.9)
        with pytest.raises(ValueError, match="level=95 is not between 0 and 1; use 0.95 for 95 %"):
            draw(level=95)
        with pytest.warns(DeprecationWarning), pytest.raises(ValueError, match="level=90 .* use 0.9 for 90 %"):
            draw(**{former: 90})
    for level, text in ((0.95, "95 %"), (0.995, "99.5 %")):
        assert ns.plot.forest(model, level=level).get_xlabel() == f"coefficient: posterior mean and {text} interval"
        assert f"{text} of samples, at each place" in bands(ns.plot.qq(x, level=level))[1]
    pyplot.close("all")


def test_trace_and_rank_of_each_chain(model):
    from matplotlib import pyplot

    ax = ns.plot.trace(model, "x1")
    for chain, one in zip(model.draws_["beta"][:, :, 1], ax.lines, strict=True):
        np.testing.assert_array_equal(one.get_ydata(), chain)
    ax = ns.plot.rank(model, "x1", bins=10)
    counts = np.array([patch.get_data().values for patch in ax.patches])
    assert counts.sum(axis=1).tolist() == [60, 60]
    assert counts.sum(axis=0).tolist() == [12] * 10  # ranks of both chains together are level
    with pytest.raises(ValueError, match="'x1'"):
        ns.plot.rank(model, "x9")
    pyplot.close("all")


def test_the_slowest_four_without_a_name(model):
    from matplotlib import pyplot

    draws, names = model._side_by_side()
    slowest = np.argsort(ns.bayes.ess_bulk(draws), kind="stable")[:4]
    axes = ns.plot.trace(model)
    assert [ax.get_ylabel() for ax in axes] == [names[j] for j in slowest]
    np.testing.assert_array_equal(axes[3].lines[1].get_ydata(), draws[1, :, slowest[3]])
    axes = pyplot.subplots(2, 2)[1]
    assert [
        f"rank of {names[j]} " in ax.get_xlabel() for ax, j in zip(ns.plot.rank(model, ax=axes).ravel(), slowest, strict=True)
    ]
    with pytest.raises(ValueError, match="ax has 1 axes, and without a name the 4 slowest"):
        ns.plot.rank(model, ax=pyplot.gca())
    pyplot.close("all")


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning", "ignore:.*have a Pareto k")
def test_checks_and_calibration():
    """Lines, points and bars are those of the tables."""
    from matplotlib import pyplot

    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 2))
    y = rng.poisson(np.exp(X[:, 0]))
    few = dict(rng=1, chains=2, warmup=60, draws=60)
    counts = ns.bayes.HorseshoeRegression(response="poisson", **few).fit(X, y)
    ax = ns.plot.check(counts, X, y, "sd", draws=100)
    assert ax.lines[0].get_xdata()[0] == y.std(ddof=1) and sum(bar.get_height() for bar in ax.patches) == 100
    assert ax.get_legend().get_texts()[1].get_text() == f"data, p = {counts.check(X, y, 'sd', draws=100)['p'][0]:.2g}"
    ax, table = ns.plot.check(counts, X, y, ["zeros", "quantiles"]), counts.check(X, y, ["zeros", "quantiles"])
    assert [text.get_text() for text in ax.get_yticklabels()] == table["statistic"].tolist()
    ends = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
    points = ax.lines[0].get_xdata()
    left, whole = points - ends[:, 0], ends[:, 1] - ends[:, 0]
    want = (table["observed"] - table["lower"]) * whole, (table["upper"] - table["lower"]) * left
    np.testing.assert_allclose(*want, atol=1e-12)
    ax, table = ns.plot.calibration(counts, X, y, 5), counts.calibration(X, y, 5)
    np.testing.assert_allclose(ax.patches[0].get_data().values, 5.0 * table["observed"])
    classes = ns.bayes.HorseshoeClassifier(**few).fit(X, y > 0)
    ax, table = ns.plot.calibration(classes, X, y > 0, 4, new=True), classes.calibration(X, y > 0, 4, new=True)
    line = next(one for one in ax.lines if one.get_marker() == "o")
    np.testing.assert_allclose(line.get_xydata().T, [table["predicted"], table["observed"]])
    assert ax.get_xlabel() == "predicted probability of True"
    for draw in (ns.plot.check, ns.plot.calibration):
        with pytest.raises(TypeError, match="of a fitted regression"):
            draw(ns.distributions.Normal(), X, y)
    heavy = ns.bayes.HorseshoeRegression(response="negative_binomial", **few).fit(X, y)
    assert [text.get_text() for text in ns.plot.forest(heavy, sort=False).get_yticklabels()] == ["x1", "x0"]
    pyplot.close("all")


def test_four_views_of_fits():
    from matplotlib import pyplot

    x = np.random.default_rng(8).gamma(2.0, 3.0, 60)
    fits = [ns.distributions.fit(x, family) for family in ("gamma", "normal")]
    axes = ns.plot.fit([*x, np.nan], fits)
    assert axes.shape == (2, 2)
    above, cumulated, quantiles, probabilities = axes.ravel()
    shape, scale = fits[0].params.values()
    peer = scipy.stats.gamma(shape, scale=scale)
    places, values = line(above, "gamma")
    np.testing.assert_allclose(values, peer.pdf(places), rtol=1e-10)
    places, values = line(cumulated, "gamma")
    np.testing.assert_allclose(values, peer.cdf(places), rtol=1e-10)
    assert places[0] == x.min() and places[-1] == x.max()
    places, values = line(cumulated, "data")
    np.testing.assert_array_equal(places, np.sort(x))
    np.testing.assert_allclose(values, np.arange(1, 61) / 60)
    share = (np.arange(60) + 0.5) / 60
    places, values = line(quantiles, "gamma")
    np.testing.assert_allclose(places, peer.ppf(share), rtol=1e-9)
    np.testing.assert_array_equal(values, np.sort(x))
    places, values = line(probabilities, "normal")
    np.testing.assert_allclose(places, scipy.stats.norm.cdf(np.sort(x), x.mean(), x.std()), rtol=1e-9)
    np.testing.assert_allclose(values, share)
    again = pyplot.figure().subplots(1, 4)
    assert ns.plot.fit(x, {"one": ns.distributions.Gamma(2.0)}, axes=again)[0] is again[0]
    with pytest.raises(ValueError, match="axes has 2 axes; fit draws into four"):
        ns.plot.fit(x, fits, axes=again[:2])
    with pytest.raises(TypeError, match="some of the distributions are of counts"):
        ns.plot.density([1.0, 2.0, 4.0], [ns.distributions.Poisson(2.0), ns.distributions.Normal()])
    with pytest.raises(TypeError, match="is no distribution"):
        ns.plot.fit(x, "gamma")
    pyplot.close("all")


@pytest.mark.parametrize("how", ["event", "entry", "censored"])
def test_fits_to_values_known_in_part_are_not_drawn_beside_data(how):
    t = ns.distributions.Weibull(1.5, scale=10.0).rvs(200, rng=1)
    known = np.minimum(t, 8.0)
    given = {
        "event": {"event": t <= 8.0},
        "entry": {"entry": 0.5 * known},
        "censored": {"censored": (known, np.where(t <= 8.0, known, np.inf))},
    }[how]
    found = ns.distributions.fit(None if how == "censored" else known, "weibull", **given)
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    for draw in (ns.plot.fit, ns.plot.qq, ns.plot.tail, ns.plot.density):
        with pytest.raises(ValueError, match="censored or truncated.*Kaplan-Meier"):
            draw(known, found)
    for draw in (ns.plot.fit, ns.plot.tail, ns.plot.density):
        with pytest.raises(ValueError, match="censored or truncated"):
            draw(known, {"found": found})
    assert pyplot.get_fignums() == before


# Weeks of remission, E. J. Freireich and others, Blood 21 (1963)
DRUG = np.array([6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35], float)
SEEN = np.arange(21) < 9
PLACEBO = np.array([1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23], float)
GROUPS = {"drug": DRUG, "placebo": PLACEBO}
EVENTS = {"drug": SEEN, "placebo": np.full(21, True)}


def areas(ax, label):
    """The band or rectangles of this label."""
    from matplotlib.collections import FillBetweenPolyCollection, PolyCollection

    return [c for c in ax.collections if isinstance(c, PolyCollection | FillBetweenPolyCollection) and c.get_label() == label]


def test_survival_of_one_group(ax):
    found = ns.distributions.fit(DRUG, "weibull", event=SEEN)
    assert ns.plot.survival(DRUG, found, event=SEEN, level=0.9, ax=ax) is ax
    estimate, (places, values) = ns.distributions.survival(DRUG, event=SEEN), line(ax, "data")
    assert places[0] == 0.0 and values[0] == 1.0 and places[-1] == 35.0
    for t, s in zip(estimate.time, estimate.survival, strict=True):
        assert s in values[places == t]
    places, values = line(ax, "censored")
    np.testing.assert_array_equal(places, [6, 9, 10, 11, 17, 19, 20, 25, 32, 34, 35])
    np.testing.assert_allclose(values, estimate.sf(places))
    grid, values = line(ax, "weibull")
    np.testing.assert_allclose(values, found.distribution.sf(grid), rtol=1e-12)
    assert len(areas(ax, "90 %, at each time")) == 1
    table, vertices = estimate.summary(0.9), areas(ax, "90 %, at each time")[0].get_paths()[0].vertices
    assert vertices[:, 1].min() == table["lower"].min() and vertices[:, 1].max() == 1.0
    lower, upper = (one.get_ydata() for one in ax.lines if one.get_linestyle() == ":")
    at = 100
    e = found.estimate(lambda d: np.log(d.cumulative_hazard(grid[at])), level=0.9)
    np.testing.assert_allclose([lower[at], upper[at]], np.exp(-np.exp([e.upper, e.lower])), rtol=1e-6)
    assert lower[0] == upper[0] == 1.0


def test_survival_of_groups_has_a_colour_for_each(ax):
    fits = {key: ns.distributions.fit(GROUPS[key], "weibull", event=EVENTS[key]) for key in GROUPS}
    ns.plot.survival(GROUPS, fits, event=EVENTS, ax=ax)
    by = {one.get_label(): one.get_color() for one in ax.lines}
    assert by["drug"] == by["drug: weibull"] == "C0" and by["placebo"] == by["placebo: weibull"] == "C1"
    _, values = line(ax, "placebo")
    assert values[-1] == 0.0
    with pytest.raises(ValueError, match="found has 'drugs', which is none of the groups 'drug', 'placebo'"):
        ns.plot.survival(GROUPS, {"drugs": fits["drug"]}, event=EVENTS)
    with pytest.raises(TypeError, match="there are 2 groups: pass found as a dict"):
        ns.plot.survival(GROUPS, fits["drug"], event=EVENTS)


def test_survival_of_a_frame_and_of_many_fits(ax):
    pandas = pytest.importorskip("pandas")
    columns = {"weeks": np.r_[DRUG, PLACEBO], "seen": np.r_[SEEN, EVENTS["placebo"]], "group": np.repeat([*GROUPS], 21)}
    frame = pandas.DataFrame(columns)
    fits = ns.distributions.fit_many(frame, "exponential", by="group", event="seen")
    ns.plot.survival(frame, fits, by="group", event="seen", ax=ax)
    assert {"drug", "placebo", "drug: exponential"} <= {one.get_label() for one in ax.lines}
    many = ns.distributions.survival_many(frame, by="group", event="seen")
    ns.plot.survival(many["drug"], ax=ax)
    ns.plot.survival(many, ax=ax)


def test_fits_that_failed_are_not_drawn(ax):
    with pytest.warns(ns.ConvergenceWarning):
        failed = ns.distributions.fit([2.0, 2.0, 2.0], "weibull")
        none = ns.distributions.fit([3.0, 4.0], "weibull", event=[False, False])
    good = ns.distributions.fit(PLACEBO, "weibull")
    with pytest.raises(ValueError, match="did not converge, and is not drawn"):
        ns.plot.survival(DRUG, failed, event=SEEN, ax=ax)
    with pytest.warns(UserWarning, match="not drawn: drug"):
        ns.plot.survival(GROUPS, {"drug": none, "placebo": good}, event=EVENTS, ax=ax)
    assert "placebo: weibull" in {one.get_label() for one in ax.lines}


def test_survival_of_intervals_shows_where_nothing_is_known(ax):
    lo, hi = np.array([0.0, 2.0, 4.0, 5.0, 7.0, 7.0]), np.array([3.0, 5.0, 6.0, 5.0, 9.0, np.inf])
    found = ns.distributions.fit(None, "weibull", censored=(lo, hi))
    ns.plot.survival(None, found, censored=(lo, hi), ax=ax)
    assert np.isnan(line(ax, "data")[1]).any() and len(areas(ax, "_")) == 1
    assert not [one for one in ax.lines if one.get_label() == "censored"]


def test_fits_within_a_truncation_are_drawn_as_the_values_are_seen(ax):
    t = ns.distributions.Weibull(1.5, scale=10.0).rvs(2000, rng=1)
    t = t[(t > 2.0) & (t < 15.0)]
    found = ns.distributions.fit(t, "weibull", truncated=(2.0, 15.0))
    ns.plot.density(t, found, ax=ax)
    grid, values = line(ax, "weibull")
    d = found.distribution
    np.testing.assert_allclose(values, d.pdf(grid) / (d.cdf(15.0) - d.cdf(2.0)), rtol=1e-8)
    ax.clear()
    ns.plot.survival(t, found, ax=ax)
    grid, values = line(ax, "weibull")
    np.testing.assert_allclose(
        values, np.clip((d.sf(grid) - d.sf(15.0)) / (d.sf(2.0) - d.sf(15.0)), 0.0, 1.0), rtol=1e-8, atol=1e-12
    )
    assert not [one for one in ax.lines if one.get_linestyle() == ":"]


def test_counts_with_more_zeros_are_drawn_with_them(ax):
    rng = np.random.default_rng(4)
    k = rng.poisson(3.0, 400) * (rng.random(400) < 0.7)
    found = ns.distributions.fit(k, "poisson", zeros="inflated")
    ns.plot.density(k, found, ax=ax)
    _, values = line(ax, "poisson")
    np.testing.assert_allclose(values[0], found.zeros + (1.0 - found.zeros) * np.exp(-found.params["mean"]), rtol=1e-10)
    axes = ns.plot.fit(k, {"zeros": found, "without": ns.distributions.fit(k, "poisson")})
    assert np.abs(np.subtract(*line(axes[1, 1], "zeros"))).max() < 0.06
    assert np.abs(np.subtract(*line(axes[1, 1], "without"))).max() > 0.1


def test_zeros_set_apart_are_drawn_with_the_others(ax):
    rng = np.random.default_rng(21)
    rain = rng.gamma(0.8, 5.0, 60) * (rng.random(60) > 0.4)
    found = ns.distributions.fit(rain, "gamma", zeros="share")
    whole = found.whole
    for draw, function in ((ns.plot.survival, whole.sf), (ns.plot.tail, whole.sf), (ns.plot.density, whole.pdf)):
        draw(rain, found, ax=ax)
        grid, values = line(ax, "gamma")
        np.testing.assert_allclose(values, function(grid), rtol=1e-12)
        if draw is ns.plot.density:
            (bars,) = ax.patches
            heights, edges, _ = bars.get_data()
            assert (heights * np.diff(edges)).sum() == pytest.approx((rain > 0.0).mean() - 1.0 / 60.0, abs=2.5 / 60.0)
            assert "data, beside 46.7 % zeros" in [t.get_text() for t in ax.get_legend().texts]
        ax.clear()
    ns.plot.qq(rain, found, ax=ax)
    expected, _ = line(ax, "data")
    np.testing.assert_array_equal(expected, whole.ppf((np.arange(60) + 0.5) / 60))
    for known in ({}, {"event": np.ones(60, bool)}):
        axes = ns.plot.fit(rain, found, **known)
        by, share = line(axes[1, 1], "gamma")
        assert by[0] == share[0] == pytest.approx(found.zeros) and np.abs(by - share).max() < 0.12
        assert "data, beside 46.7 % zeros" in [t.get_text() for t in axes[0, 0].get_legend().texts]
    ax.clear()
    within = ns.distributions.fit(rain[rain < 10.0], "gamma", zeros="share", truncated=(None, 10.0))
    ns.plot.survival(rain[rain < 10.0], within, ax=ax)
    grid, values = line(ax, "gamma")
    d = within.distribution
    np.testing.assert_allclose(values, (1.0 - within.zeros) * (d.sf(grid) - d.sf(10.0)) / d.cdf(10.0), rtol=1e-8, atol=1e-12)


def test_survival_above_entries(ax):
    life = np.array([5.0, 7.0, 8.0, 12.0, 20.0, 9.0, 14.0, 6.0])
    entry = np.array([3.0, 2.0, 6.0, 4.0, 3.0, 8.0, 5.0, 2.5])
    found = ns.distributions.fit(life, "weibull", entry=entry)
    ns.plot.survival(life, found, entry=entry, ax=ax)
    grid, values = line(ax, "weibull")
    d = found.distribution
    np.testing.assert_allclose(values, d.sf(grid) / d.sf(2.0), rtol=1e-10)
    assert grid[0] == 2.0 and line(ax, "data")[0][0] == 2.0


def test_probability_plot(ax):
    found = ns.distributions.fit(DRUG, "weibull", event=SEEN)
    ns.plot.probability(DRUG, found, event=SEEN, ax=ax)
    places, values = line(ax, "events")
    estimate = ns.distributions.survival(DRUG, event=SEEN)
    at = estimate.events > 0.0
    middle = 1.0 - 0.5 * (np.r_[1.0, estimate.survival][:-1] + estimate.survival)[at]
    np.testing.assert_array_equal(places, estimate.time[at])
    np.testing.assert_allclose(values, found.distribution.ppf(middle))
    shown = dict(zip([t.get_text() for t in ax.get_yticklabels()], ax.get_yticks(), strict=True))
    np.testing.assert_allclose(shown["50 %"], found.distribution.ppf(0.5))
    assert ax.get_xscale() == ax.get_yscale() == "log"
    with pytest.raises(ValueError, match="no event"):
        ns.plot.probability([1.0, 2.0], ns.distributions.Weibull(1.0), event=[False, False])
    with pytest.raises(TypeError, match="continuous"):
        ns.plot.probability([1.0, 2.0], ns.distributions.Poisson(1.0))


@pytest.mark.parametrize("how", ["event", "estimate", "scipy"])
def test_a_right_fit_of_censored_data_looks_right(how):
    """Points of a right fit lie on the diagonals, where ends of observation in the place of lives would lie far off."""
    from matplotlib import pyplot

    t = ns.distributions.Weibull(1.5, scale=10.0).rvs(4000, rng=1)
    known, event = np.minimum(t, 8.0), t <= 8.0
    found = ns.distributions.fit(known, "weibull", event=event)
    data = {
        "event": known,
        "estimate": ns.distributions.survival(known, event=event),
        "scipy": scipy.stats.CensoredData(uncensored=known[event], right=known[~event]),
    }[how]
    given = {"event": event} if how == "event" else {}
    above, cumulated, quantiles, probabilities = ns.plot.fit(data, found, **given).ravel()
    (bins,) = (p for p in above.patches if p.get_label() == "data")
    values, edges, _ = bins.get_data()
    np.testing.assert_allclose((values * np.diff(edges)).sum(), event.mean(), atol=1e-12)
    peer = found.distribution
    expected = np.diff(peer.cdf(edges)) / np.diff(edges)
    assert np.abs(values - expected)[:-1].max() < 0.15 * expected.max()
    for ax, most in ((quantiles, 0.25), (probabilities, 0.02)):
        x, y = line(ax, "weibull")
        assert np.abs(x - y).max() < most
    assert len(areas(cumulated, "95 %, at each time")) == 1
    one = ns.plot.qq(data, found, **given)
    assert np.abs(np.subtract(*line(one, "events"))).max() < 0.25
    steps = line(ns.plot.tail(data, found, **given), "data")
    assert steps[1].min() == pytest.approx(1.0 - event.mean(), abs=1e-12)
    ns.plot.density(data, found, **given)
    pyplot.close("all")


def test_intervals_in_all_views():
    from matplotlib import pyplot

    rng = np.random.default_rng(3)
    t = 10.0 * rng.weibull(1.5, 2000)
    lo = np.floor(t)
    hi = np.where(t < 15.0, lo + 1.0, np.inf)
    found = ns.distributions.fit(None, "weibull", censored=(lo, hi))
    above, _, _, probabilities = ns.plot.fit(None, found, censored=(lo, hi)).ravel()
    (bins,) = (p for p in above.patches if p.get_label() == "data")
    values, edges, _ = bins.get_data()
    np.testing.assert_allclose((values * np.diff(edges)).sum(), (t < 15.0).mean(), atol=1e-8)
    whole = edges[1:] < 15.0
    np.testing.assert_allclose(values[whole], (np.diff(found.distribution.cdf(edges)) / np.diff(edges))[whole], atol=0.02)
    ns.plot.qq(None, found, censored=(lo, hi))
    with pytest.raises(ValueError, match="pass a distribution, or a fit"):
        ns.plot.qq(None, censored=(lo, hi))
    with pytest.raises(ValueError, match="values that are all known"):
        ns.plot.tail(None, found, censored=(lo, hi), side="lower")
    pyplot.close("all")


def test_counts_are_bars():
    from matplotlib import pyplot

    k = ns.distributions.NegativeBinomial(3.0, 2.0).rvs(300, rng=1)
    fits = [ns.distributions.fit(k, family) for family in ("negative_binomial", "poisson")]
    above, cumulated, quantiles, probabilities = ns.plot.fit(k, fits).ravel()
    heights = [bar.get_height() for bar in above.patches]
    np.testing.assert_allclose(heights, np.bincount(k) / 300)
    _, values = line(above, "poisson")
    np.testing.assert_allclose(values, scipy.stats.poisson.pmf(np.arange(k.max() + 1), k.mean()), rtol=1e-10)
    places, values = line(cumulated, "poisson")
    np.testing.assert_array_equal(places, np.arange(k.min(), k.max() + 1))
    x, y = line(probabilities, "negative binomial")
    assert y[-1] == 1.0 and len(y) == np.unique(k).size and np.abs(x - y).max() < 0.05
    with pytest.raises(ValueError, match="no counts"):
        ns.plot.density([0.5, 1.0], fits[0])
    with pytest.raises(ValueError, match="1000 at most"):
        ns.plot.density([1.0, 1e6], fits[0])
    with pytest.raises(ValueError, match="all known"):
        ns.plot.density(k, fits[0], event=k > 1)
    pyplot.close("all")


def test_qq_says_that_it_draws_one_distribution():
    x = np.arange(20.0)
    found = ns.distributions.fit(x, "normal")
    with pytest.raises(TypeError, match="qq draws one distribution, but this is a dict of 1: pass one of its values") as said:
        ns.plot.qq(x, {"a": found})
    assert "\n" not in str(said.value)
    with pytest.raises(TypeError, match="a list is no distribution"):
        ns.plot.qq(x, [found])


# --- extremes -------------------------------------------------------------------------------------------------------------


def band_at(ax, x):
    """Lower and upper end of the only band at its vertices at x."""
    (band,) = ax.collections
    vertices = band.get_paths()[0].vertices
    return np.unique(vertices[np.isclose(vertices[:, 0], x, rtol=1e-12), 1])


@pytest.mark.parametrize("method", ["profile", "delta", "bootstrap"])
def test_return_levels_of_annual_maxima(ax, method):
    maxima = ns.distributions.GEV(0.1, loc=40.0, scale=8.0).rvs(60, rng=1)
    found = ns.distributions.fit(maxima, "gev")
    assert ns.plot.return_levels(maxima, found, method=method, periods=[2.0, 100.0], count=99, rng=1, ax=ax) is ax
    options = {"profile": dict(x=maxima), "bootstrap": dict(count=99, rng=1)}.get(method, {})
    want = found.return_level(100.0, 1.0, method, **options)
    assert band_at(ax, 100.0) == pytest.approx([want.lower, want.upper], rel=1e-9)
    at, values = line(ax, "data")
    np.testing.assert_array_equal(values, np.sort(maxima))
    np.testing.assert_allclose(at, 61.0 / np.arange(60, 0, -1), rtol=1e-14)
    grid, levels = line(ax, "gev")
    shape, loc, scale = found.params.values()
    np.testing.assert_allclose(levels, scipy.stats.genextreme.isf(1.0 / grid, -shape, loc, scale), rtol=1e-10)
    assert ax.get_xscale() == "log" and f"95 % interval, {method}" in [t.get_text() for t in ax.get_legend().texts]


def test_return_levels_of_other_data(ax):
    """Censored ones, with weights, with zeros, and of fits by moments."""
    maxima = ns.distributions.GEV(0.1, loc=40.0, scale=8.0).rvs(60, rng=1)
    x, event = np.minimum(maxima, 55.0), maxima < 55.0
    found = ns.distributions.fit(x, "gev", event=event)
    ns.plot.return_levels(x, found, event=event, periods=[2.0, 100.0], ax=ax)
    want = found.return_level(100.0, 1.0, "profile", x=x, event=event)
    assert band_at(ax, 100.0) == pytest.approx([want.lower, want.upper], rel=1e-6)
    at, values = line(ax, "data")
    np.testing.assert_array_equal(values, np.sort(x[event]))
    np.testing.assert_allclose(at, 60.0 / (60.0 - np.arange(event.sum()) - 0.5), rtol=1e-12)
    with pytest.raises(ValueError, match="pass event="):
        ns.plot.return_levels(x, found, ax=ax)
    ax.clear()
    w = np.repeat([1.0, 2.0, 0.0], 20)
    found = ns.distributions.fit(maxima, "exponential", threshold=40.0, weights=w)
    ns.plot.return_levels(maxima, found, weights=w, method="delta", points=3, ax=ax)
    assert (line(ax, "data")[1] > 40.0).all() and line(ax, "data")[0].size == found.n_values
    with pytest.raises(ValueError, match="pass those of the fit"):
        ns.plot.return_levels(maxima, found, weights=w + 1.0, ax=ax)
    ax.clear()
    found = ns.distributions.fit(maxima, "gev", method="lmoments")
    with pytest.raises(ValueError, match="pass method=None"):
        ns.plot.return_levels(maxima, found, ax=ax)
    ns.plot.return_levels(maxima, found, method=None, ax=ax)
    assert not ax.collections and line(ax, "data")[0].size == 60
    ax.clear()
    wet = np.where(maxima > 40.0, maxima, 0.0)
    found = ns.distributions.fit(wet, "gamma", zeros="share")
    ns.plot.return_levels(wet, found, method="delta", points=3, ax=ax)
    assert line(ax, "data")[0].size == 60


def test_return_levels_above_a_threshold(ax):
    rain = np.random.default_rng(3).gamma(0.5, 8.0, 4000)
    found = ns.distributions.fit(np.r_[rain, np.nan], "gpd", threshold=20.0)
    ns.plot.return_levels(np.r_[rain, np.nan], found, per=365.25, points=3, ax=ax)
    at, values = line(ax, "data")
    assert (values > 20.0).all() and values.size == found.n_values and at[-1] == pytest.approx(4001 / 365.25)
    grid, levels = line(ax, "gpd")
    np.testing.assert_allclose(levels, found.whole.isf(1.0 / (365.25 * grid)), rtol=1e-14)
    assert (levels > 20.0).all() and grid[-1] == pytest.approx(40010 / 365.25)
    ax.clear()
    ns.plot.return_levels(rain, found, per=365.25, method=None, ax=ax)
    assert not ax.collections
    with pytest.raises(ValueError, match="pass the data of the fit, all of them"):
        ns.plot.return_levels(rain[rain > 20.0], found, ax=ax)
    with pytest.raises(TypeError, match=r"fits.one\(key\)"):
        ns.plot.return_levels(rain, ns.distributions.fit_many([rain, rain], "gpd", threshold=20.0), ax=ax)
    with pytest.raises(TypeError, match="found is a GPD"):
        ns.plot.return_levels(rain, found.distribution, ax=ax)
    with pytest.raises(ValueError, match="method='wald'"):
        ns.plot.return_levels(rain, found, method="wald", ax=ax)


def test_fits_above_a_threshold_are_drawn_where_they_are_known(ax):
    x = np.random.default_rng(3).gamma(0.5, 8.0, 1000)
    found = ns.distributions.fit(x, "gpd", threshold=10.0)
    ns.plot.tail(x, {"fit": found}, ax=ax)
    grid, share = line(ax, "fit")
    np.testing.assert_array_equal(np.isnan(share), grid < 10.0)
    np.testing.assert_array_equal(share, found.whole.sf(grid))
    ax.clear()
    ns.plot.qq(x, found, ax=ax)
    expected, _ = line(ax, "data")
    assert np.isfinite(expected).sum() == pytest.approx(found.n_values, abs=1) and np.isfinite(ax.lines[0].get_xdata()).all()


def test_mean_excess_is_the_mean_above_each_threshold(ax):
    x = np.random.default_rng(4).gamma(0.5, 8.0, 500)
    ns.plot.mean_excess(np.r_[x, np.nan], [3.0, 10.0], level=0.9, ax=ax)
    at, mean = line(ax, "mean excess")
    for u, got in zip(at, mean, strict=True):
        excess = x[x > u] - u
        half = scipy.stats.norm.ppf(0.95) * excess.std(ddof=1) / np.sqrt(excess.size)
        assert got == pytest.approx(excess.mean(), rel=1e-12)
        assert band_at(ax, u) == pytest.approx([excess.mean() - half, excess.mean() + half], rel=1e-10)
    ax.clear()
    ns.plot.mean_excess(x, ax=ax)
    at, mean = line(ax, "mean excess")
    assert at.size == 200 and at[0] == x.min() and at[-1] == np.sort(x)[-6] and np.isfinite(mean).all()
    for wrong, message in (([np.nan], "finite numbers"), ([], "finite numbers"), ([1e3], "fewer than two values")):
        with pytest.raises(ValueError, match=message):
            ns.plot.mean_excess(x, wrong, ax=ax)
    with pytest.raises(ValueError, match="data has 4 values, too few for mean_excess to choose thresholds"):
        ns.plot.mean_excess([1.0, 2.0, 3.0, 4.0], ax=ax)


def test_threshold_stability_has_the_fit_of_each_threshold():
    from matplotlib import pyplot

    x = np.random.default_rng(5).gamma(0.5, 8.0, 2000)
    axes = ns.plot.threshold_stability(x, [4.0, 12.0])
    assert axes.shape == (2,) and axes[1].get_xlabel() == "threshold"
    for i, u in enumerate((4.0, 12.0)):
        found = ns.distributions.fit(x[x > u] - u, "gpd")
        shape, scale = found.params["shape"], found.params["scale"]
        names = list(found.params)
        cov = found.covariance[np.ix_([names.index("scale"), names.index("shape")], [names.index("scale"), names.index("shape")])]
        se = np.sqrt(np.array([1.0, -u]) @ cov @ np.array([1.0, -u])), found.se["shape"]
        for ax, value, error in zip(axes, (scale - shape * u, shape), se, strict=True):
            (bars,) = ax.containers
            assert bars.lines[0].get_xydata()[i] == pytest.approx([u, value], rel=1e-6)
            low, high = bars.lines[2][0].get_segments()[i][:, 1]
            assert (low, high) == pytest.approx((value - 1.959964 * error, value + 1.959964 * error), rel=1e-4)
    axes = ns.plot.threshold_stability(x)
    at = axes[0].containers[0].lines[0].get_xdata()
    assert at.size == 20 and at[0] == np.median(x) and (x > at[-1]).sum() == 20
    with pytest.raises(ValueError, match="axes has 1 axes; threshold_stability draws into two"):
        ns.plot.threshold_stability(x, axes=axes[0])
    with pytest.raises(ValueError, match="data has 20 values, too few"):
        ns.plot.threshold_stability(x[:20])
    pyplot.close("all")


def test_ellipses_of_t_components_hold_their_masses_and_noise_is_grey(ax):
    _, x = clusters()
    odd = np.concatenate([x, [[90.0, -80.0], [-70.0, 85.0], [60.0, 95.0]]])
    fit = ns.mixture.fit(odd, 2, family=("student_t", {"df": [3.0, 8.0]}), noise=True, rng=0)
    ns.plot.mixture(fit, odd, masses=[0.5, 0.8], ax=ax)
    rings = [one.get_xydata() for one in ax.lines if len(one.get_xdata()) == 181]
    for k, part in enumerate(fit.component_distributions):
        draws = part.rvs(20_000, rng=1)
        for ring, mass in zip(rings[2 * k : 2 * k + 2], (0.5, 0.8), strict=True):
            edge = part.logpdf(ring)
            np.testing.assert_allclose(edge, edge[0], rtol=1e-10)
            assert np.mean(part.logpdf(draws) > edge[0]) == pytest.approx(mass, abs=0.012)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["noise", "component 1", "component 2"]
