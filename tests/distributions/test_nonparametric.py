"""Survival without a family: published tables, SciPy's estimates, EM written plainly, and derivatives at the maximum."""

import functools
import math
import pickle

import numpy as np
import pytest
import scipy.stats as st

import numbastats as ns
from numbastats.distributions import fit, fit_many, survival, survival_many

inf, nan = math.inf, math.nan

# Weeks of remission, E. J. Freireich and others, Blood 21 (1963): with 6-mercaptopurine, and with a placebo
DRUG = np.array([6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35], float)
SEEN = np.arange(21) < 9
PLACEBO = np.array([1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23], float)

# Months to the retraction of a breast, D. M. Finkelstein, R. A. Wolfe, Biometrics 41 (1985), table 4; "." for open ends
RADIATION = """45 . 6 10 0 7 46 . 46 . 7 16 17 . 7 14 37 44 0 8 4 11 15 . 11 15 22 . 46 . 46 . 25 37 46 . 26 40 46 . 27 34 36 44
46 . 36 48 37 . 40 . 17 25 46 . 11 18 38 . 5 12 37 . 0 5 18 . 24 . 36 . 5 11 19 35 17 25 24 . 32 . 33 . 19 26 37 . 34 . 36 ."""
BOTH = """8 12 0 5 30 34 0 22 5 8 13 . 24 31 12 20 10 17 17 27 11 . 8 21 17 23 33 40 4 9 24 30 31 . 11 . 16 24 13 39 14 19 13 .
19 32 4 8 11 13 34 . 34 . 16 20 13 . 30 36 18 25 16 24 18 24 17 26 35 . 16 60 32 . 15 22 35 39 23 . 11 17 21 . 44 48 22 32 11 20
14 17 10 35 48 ."""


def months(text):
    """Ends of intervals."""
    return np.array([float(v.replace(".", "inf")) for v in text.split()]).reshape(-1, 2).T


def inspected(n, seed, late=0.0, exact=0.2, step=3.0):
    """Intervals between inspections at random times, whole numbers with many ties, some values exact, and entries."""
    rng = np.random.default_rng(seed)
    x = np.ceil(10.0 * rng.weibull(1.5, n))
    looks = np.ceil(np.cumsum(rng.exponential(step, (n, 5)), axis=1))
    lo, hi = np.where(looks < x[:, None], looks, 0.0).max(1), np.where(looks >= x[:, None], looks, inf).min(1)
    known = rng.random(n) < exact
    lo, hi = np.where(known, x, lo), np.where(known, x, hi)
    entry = np.floor(rng.uniform(0.0, late, n)) if late else np.zeros(n)
    here = (entry < np.where(hi < inf, hi, lo)) & (entry < x)
    lo, hi, entry = lo[here], hi[here], entry[here]
    return np.where(lo == hi, lo, np.maximum(lo, entry)), hi, entry


def contributions(found, lo, hi, entry):
    """Which masses of an estimate each value may be, and which it is seen at; the last column is what is beyond all times."""
    since, time = np.r_[found.since, found.last], np.r_[found.time, inf]
    exact = since == time
    within = np.where(exact, lo[:, None] < time, lo[:, None] <= since) & (time <= hi[:, None])
    inside = np.where(lo[:, None] == hi[:, None], exact & (time == lo[:, None]), within)
    seen = np.where(exact, time > entry[:, None], since >= entry[:, None])
    return inside, seen


def maximised(inside, seen, w, rounds=20_000):
    """Masses by Turnbull's EM, with ghosts for units that were not seen."""
    p = np.full(inside.shape[1], 1.0 / inside.shape[1])
    for _ in range(rounds):
        of, within = inside @ p, seen @ p
        count = p * (w @ (inside / of[:, None] + (1.0 - seen) / within[:, None]))
        p = count / count.sum()
    return p


class TestProductLimit:
    def test_the_published_table(self):
        """D. G. Kleinbaum, M. Klein, Survival Analysis: A Self-Learning Text, chapter 2, with Greenwood's errors."""
        found = survival(DRUG, event=SEEN)
        at = found.events > 0
        np.testing.assert_array_equal(found.time[at], [6, 7, 10, 13, 16, 22, 23])
        np.testing.assert_array_equal(found.at_risk[at], [21, 17, 15, 12, 11, 7, 6])
        np.testing.assert_array_equal(found.events[at], [3, 1, 1, 1, 1, 1, 1])
        np.testing.assert_allclose(found.survival[at], [0.8571, 0.8067, 0.7529, 0.6902, 0.6275, 0.5378, 0.4482], atol=5e-5)
        np.testing.assert_allclose(found.se[at], [0.0764, 0.0869, 0.0963, 0.1068, 0.1141, 0.1282, 0.1346], atol=5e-5)
        assert found.censored.sum() == 12 and found.median == 23.0 and found.last == 35.0 and found.estimator == "Kaplan-Meier"
        assert [found.quantile_interval(0.5)[0], found.median] == [13.0, 23.0] and math.isnan(found.quantile_interval(0.5)[1])

    def test_log_rank_of_the_published_data(self):
        found = survival_many({"drug": DRUG, "placebo": PLACEBO}, event={"drug": SEEN, "placebo": np.full(21, True)})
        test = found.logrank()
        assert round(test.statistic**2, 2) == 16.79 and round(test.pvalue * 1e5, 2) == 4.17
        assert found["placebo"].median == 8.0

    def test_as_scipy_has_it(self):
        rng = np.random.default_rng(3)
        x, event = np.ceil(8.0 * rng.weibull(0.8, 300)), rng.random(300) < 0.6
        data = st.CensoredData(uncensored=x[event], right=x[~event])
        peer, found = st.ecdf(data).sf, survival(x, event=event)
        np.testing.assert_array_equal(found.time, peer.quantiles)
        np.testing.assert_allclose(found.survival, peer.probabilities, rtol=1e-13, atol=1e-15)
        for band, method in (("plain", "linear"), ("log-log", "log-log")):
            table = found.summary(0.9, band=band)
            with pytest.warns(RuntimeWarning, match="undefined"):
                ends = peer.confidence_interval(0.9, method=method)
            use = (table["survival"] > 0.0) & (found.survival < 1.0)
            np.testing.assert_allclose(table["lower"][use], ends.low.probabilities[use], rtol=1e-12)
            np.testing.assert_allclose(table["upper"][use], ends.high.probabilities[use], rtol=1e-12)
        same = survival(data)
        np.testing.assert_array_equal(same.survival, found.survival)
        np.testing.assert_array_equal(survival(None, censored=(x, np.where(event, x, nan))).survival, found.survival)

    def test_complete_values_are_their_shares(self):
        x = np.random.default_rng(1).normal(size=50)
        found = survival(x)
        np.testing.assert_allclose(found.survival, 1.0 - np.arange(1, 51) / 50, atol=1e-14)
        s = found.survival[:-1]
        np.testing.assert_allclose(found.se[:-1], np.sqrt(s * (1.0 - s) / 50), rtol=1e-12)
        assert math.isnan(found.se[-1]) and math.isnan(found.summary()["upper"][-1])

    def test_entries_and_weights(self):
        rng = np.random.default_rng(5)
        x, entry = np.ceil(10.0 * rng.weibull(1.5, 400)), np.floor(rng.uniform(0.0, 9.0, 400))
        x, entry = x[x > entry], entry[x > entry]
        event, w = rng.random(x.size) < 0.7, rng.integers(0, 4, x.size).astype(float)
        found, share = survival(x, event=event, entry=entry, weights=w), 1.0
        for i, t in enumerate(found.time):
            at_risk = w[(entry < t) & (x >= t)].sum()
            assert found.at_risk[i] == at_risk and found.events[i] == w[(x == t) & event].sum()
            share *= 1.0 - found.events[i] / at_risk
            np.testing.assert_allclose(found.survival[i], share, rtol=1e-13)
        again = survival(
            np.repeat(x, w.astype(int)), event=np.repeat(event, w.astype(int)), entry=np.repeat(entry, w.astype(int))
        )
        for name in ("time", "at_risk", "events", "censored", "survival", "se"):
            np.testing.assert_array_equal(getattr(found, name), getattr(again, name), name)
        assert found.n_obs == again.n_values and found.n_values == (w > 0).sum()

    def test_all_at_risk_may_end_early(self):
        found = survival([2.0, 8.0, 9.0], entry=[0.0, 3.0, 4.0])
        assert (
            found.survival.tolist() == [0.0, 0.0, 0.0]
            and "those who entered later" in found.message
            and "from 2 on" in repr(found)
        )

    def test_nothing_was_seen(self):
        found = survival([3.0, 4.0], event=[False, False])
        assert found.survival.tolist() == [1.0, 1.0] and found.summary()["lower"].tolist() == [1.0, 1.0]
        assert "no event" in found.message and math.isnan(found.median) and math.isnan(found.sf(5.0)) and found.sf(4.0) == 1.0
        with pytest.warns(ns.ConvergenceWarning, match="missing"):
            assert math.isnan(survival([nan, nan]).last)


class TestTurnbull:
    def test_the_published_estimates(self):
        """M. P. Fay, P. A. Shaw, Journal of Statistical Software 36 (2010), for the data of Finkelstein and Wolfe."""
        found = survival(None, censored=tuple(months(RADIATION)))
        assert found.n_values == 46 and found.estimator == "Turnbull" and found.converged and found.gradient <= 1e-8
        table = [(4, 5, 0.0463), (6, 7, 0.0334), (7, 8, 0.0887), (11, 12, 0.0708), (24, 25, 0.0926), (33, 34, 0.0818)]
        table = np.array([*table, (38, 40, 0.1209), (46, 48, 0.4656)])
        np.testing.assert_array_equal(np.c_[found.since, found.time], table[:, :2])
        np.testing.assert_allclose(-np.diff(np.r_[1.0, found.survival]), table[:, 2], atol=5e-5)
        found = survival(None, censored=tuple(months(BOTH)))
        table = [(4, 5, 0.0433), (5, 8, 0.0433), (11, 12, 0.0692), (16, 17, 0.1454), (18, 19, 0.1411), (19, 20, 0.1157)]
        table = np.array([*table, (24, 25, 0.0999), (30, 31, 0.0709), (35, 36, 0.1608), (44, 48, 0.0552), (48, 60, 0.0552)])
        np.testing.assert_array_equal(np.c_[found.since, found.time], table[:, :2])
        np.testing.assert_allclose(-np.diff(np.r_[1.0, found.survival]), table[:, 2], atol=5e-5)

    @pytest.mark.parametrize(("n", "late"), [(12, 0.0), (60, 0.0), (60, 4.0), (150, 6.0)])
    def test_plain_em_comes_to_the_same(self, n, late):
        lo, hi, entry = inspected(n, n + int(late), late)
        w = np.random.default_rng(n).integers(1, 4, lo.size).astype(float)
        found = survival(None, censored=(lo, hi), entry=entry if late else None, weights=w)
        inside, seen = contributions(found, lo, hi, entry)
        assert inside.any(axis=1).all()
        p = maximised(inside, seen, w)
        np.testing.assert_allclose(np.r_[-np.diff(np.r_[1.0, found.survival]), found.survival[-1]], p, atol=2e-5)

    @pytest.mark.parametrize(("n", "late"), [(100, 0.0), (1000, 0.0), (1000, 5.0)])
    def test_no_mass_that_moves_makes_the_data_likelier(self, n, late):
        """Against single points at all ends and between them, not only where the estimate has regions."""
        lo, hi, entry = inspected(n, 7, late)
        found = survival(None, censored=(lo, hi), entry=entry if late else None)
        assert found.converged
        inside, seen = contributions(found, lo, hi, entry)
        p = np.r_[-np.diff(np.r_[1.0, found.survival]), found.survival[-1]]
        of, within = inside @ p, seen @ p
        ends = np.unique(np.r_[lo, hi[hi < inf], entry, found.last + 1.0])
        points = np.r_[ends, 0.5 * (ends[1:] + ends[:-1])]
        here = np.where(lo[:, None] == hi[:, None], points == lo[:, None], (points > lo[:, None]) & (points <= hi[:, None]))
        slope = (here / of[:, None] - (points > entry[:, None]) / within[:, None]).sum(axis=0)
        assert slope.max() < 2e-8 * lo.size
        np.testing.assert_allclose(((inside / of[:, None] - seen / within[:, None]) * p).sum(axis=0), 0.0, atol=2e-8 * lo.size)

    def test_small_data_of_all_kinds(self):
        """Left-censored, exact, open, tied and entered values; where no estimate is unique the message says so."""
        rng, early = np.random.default_rng(0), 0
        for trial in range(200):
            n, m = rng.integers(2, 25), rng.integers(2, 12)
            lo, kind = rng.integers(0, m, n).astype(float), rng.random(n)
            hi = np.where(kind > 0.75, inf, lo + rng.integers(0, m, n))
            lo, hi = np.where(kind < 0.2, -inf, lo), np.where((kind < 0.2) & (hi <= 0.0), 1.0, hi)
            entry = np.where(rng.random(n) < 0.5, rng.integers(-1, m, n), -inf) if trial % 2 else np.full(n, -inf)
            here = entry < np.where(hi < inf, hi, lo)
            lo, hi, entry = lo[here], hi[here], entry[here]
            if not ((lo < hi) & (hi < inf)).any():
                continue
            found = survival(None, censored=(lo, hi), entry=entry if trial % 2 else None)
            assert found.converged
            if "entered later" in found.message:
                early += 1
                continue
            lo = np.where(lo == hi, lo, np.maximum(lo, entry))
            inside, seen = contributions(found, lo, hi, entry)
            p = np.r_[-np.diff(np.r_[1.0, found.survival]), found.survival[-1]]
            of, within = inside @ p, seen @ p
            ends = np.unique(np.r_[lo[lo > -inf], hi[hi < inf], entry[entry > -inf], -2.0, found.last + 1.0])
            points = np.r_[ends, 0.5 * (ends[1:] + ends[:-1])]
            may = np.where(lo[:, None] == hi[:, None], points == lo[:, None], (points > lo[:, None]) & (points <= hi[:, None]))
            slope = (may / of[:, None] - (points > entry[:, None]) / within[:, None]).sum(axis=0)
            assert slope.max() < 2e-8 * lo.size, trial
        assert early < 40

    def test_the_estimate_may_fall_to_0_before_others_enter(self):
        """The likelihood is at its largest where nobody lives to the entries at 4."""
        found = survival(None, censored=([4.0, 2.0, 4.0], [inf, 4.0, 9.0]), entry=[3.0, -inf, 4.0])
        assert found.survival[0] == 0.0 and "those who entered later" in found.message

    def test_exact_and_open_times_are_kaplan_and_meiers(self):
        """One interval beyond all others changes nothing below it."""
        late = np.r_[DRUG, 40.0], np.r_[np.where(SEEN, DRUG, inf), 41.0]
        found, peer = survival(None, censored=late), survival(np.r_[DRUG, 40.5], event=np.r_[SEEN, True])
        assert found.estimator == "Turnbull"
        use = peer.events > 0
        np.testing.assert_allclose(found.survival[:-1], peer.survival[use][:-1], atol=1e-8)
        np.testing.assert_allclose(found.events[:-1], peer.events[use][:-1], atol=1e-6)
        np.testing.assert_allclose(found.at_risk[:-1], peer.at_risk[use][:-1], atol=1e-6)
        assert found.censored.sum() == 12.0 and found.events.sum() == pytest.approx(10.0, abs=1e-6)

    def test_bins_are_their_counts(self):
        counts = np.array([3.0, 0.0, 5.0, 2.0])
        found = survival(None, censored=([0, 1, 2, 3], [1, 2, 3, 4]), weights=counts)
        np.testing.assert_allclose(found.survival, [0.7, 0.2, 0.0], atol=1e-9)
        assert found.time.tolist() == [1.0, 3.0, 4.0] and np.isnan(found.se).all()

    def test_left_ends_are_open(self):
        """A value seen at 2 is none of those above 2."""
        found = survival(None, censored=([2.0, 2.0], [2.0, 3.0]))
        assert found.time.tolist() == [2.0, 3.0] and found.since.tolist() == [2.0, 2.0]
        found = survival(None, censored=([-inf, 1.0], [2.0, 3.0]))
        assert (found.since.tolist(), found.time.tolist(), found.survival.tolist()) == ([1.0], [2.0], [0.0])


class TestGroups:
    @pytest.mark.parametrize("late", [0.0, 5.0])
    def test_many_are_as_one_by_one(self, late):
        sets = [inspected(n, n, late) for n in (5, 80, 33, 200)]
        lo, hi, entry = ({key: s[i] for key, s in zip("abcd", sets, strict=True)} for i in range(3))
        many = survival_many(None, censored=(lo, hi), entry=entry if late else None)
        assert many.keys == tuple("abcd") and len(many) == 4
        for key, found in many.items():
            one = survival(None, censored=(lo[key], hi[key]), entry=entry[key] if late else None)
            for name in ("since", "time", "at_risk", "events", "survival", "se"):
                np.testing.assert_array_equal(getattr(found, name), getattr(one, name), name)
            assert (found.last, found.n_obs, found.message, found.gradient) == (one.last, one.n_obs, one.message, one.gradient)

    def test_product_limits_of_an_array_with_entries(self):
        rng = np.random.default_rng(8)
        x, event = np.ceil(rng.exponential(9.0, (7, 3, 40))), rng.random((7, 3, 40)) < 0.5
        entry = np.floor(0.9 * (x - 1.0) * rng.random(x.shape))
        many = survival_many(np.moveaxis(x, -1, 0), event=np.moveaxis(event, -1, 0), entry=np.moveaxis(entry, -1, 0), axis=0)
        assert many.status.shape == (7, 3)
        for i in np.ndindex(7, 3):
            one = survival(x[i], event=event[i], entry=entry[i])
            for name in ("time", "at_risk", "events", "censored", "survival", "se"):
                np.testing.assert_array_equal(getattr(many.one(i), name), getattr(one, name), name)

    def test_any_number_of_workers(self, monkeypatch):
        monkeypatch.setattr("numbastats._core.launch.LOOP_FROM", 0)
        sets = [inspected(n, n, 3.0) for n in (9, 40, 25)]
        lo, hi, entry = ([s[i] for s in sets] for i in range(3))
        x = [np.ceil(t[t < inf]) for t in hi]
        for options in (dict(data=None, censored=(lo, hi), entry=entry), dict(data=x)):
            one, two = (survival_many(workers=workers, **options) for workers in (1, 2))
            for name in ("time", "survival", "at_risk", "variance", "gradient"):
                np.testing.assert_array_equal(getattr(one._steps, name), getattr(two._steps, name))

    def test_frames(self):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(
            {"weeks": np.r_[DRUG, PLACEBO], "seen": np.r_[SEEN, np.full(21, True)], "group": ["drug"] * 21 + ["no"] * 21}
        )
        found = survival_many(frame, by="group", event="seen")
        assert found.keys == ("drug", "no") and found.logrank().pvalue < 1e-4
        table = found.to_frame(level=0.9, band="plain")
        assert list(table.columns[:2]) == ["group", "time"] and set(table["level"]) == {0.9}
        one = found["no"].to_frame("pandas")
        np.testing.assert_array_equal(table[table["group"] == "no"]["survival"], one["survival"])

    def test_tests_of_two_groups_alone(self):
        times = {"a": [1.0, 2.0], "b": [1.5, 3.0], "c": [4.0, 5.0]}
        with pytest.raises(ValueError, match="two groups, and there are 3"):
            survival_many(times).logrank()
        two = {key: times[key] for key in "ab"}
        with pytest.raises(ValueError, match="without entries"):
            survival_many(two, entry=0.5).logrank()
        with pytest.raises(ValueError, match="whole"):
            survival_many(two, weights={key: [0.5, 1.0] for key in "ab"}).logrank()

    def test_no_test_where_nothing_can_be_compared(self):
        with pytest.warns(ns.ConvergenceWarning):
            empty = survival_many({"a": [1.0, 2.0, 3.0], "b": []})
        with pytest.raises(ValueError, match="a group has no values"):
            empty.logrank()
        two = {"a": [1.0, 2.0], "b": [1.5, 3.0]}
        with pytest.raises(ValueError, match="no event was seen"):
            survival_many(two, event={key: [False, False] for key in two}).logrank()
        with pytest.raises(ValueError, match="at no event could it have been"):
            survival_many({"a": [1.0], "b": [1.0]}).logrank()

    def test_a_column_that_no_argument_names_is_said(self):
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame({"lo": [0.0, 1.0], "hi": [2.0, 2.0], "g": ["a", "a"], "other": [1.0, 2.6]})
        for call in (survival_many, functools.partial(fit_many, family="weibull")):
            with pytest.raises(ValueError, match=r"data\['other'\]=2.6 at row 1 is not .* drop the column 'other'"):
                call(frame, by="g", censored=("lo", "hi"))
        frame.loc[1, "other"] = np.nan
        with pytest.raises(ValueError, match=r"data\['other'\] is missing at row 1.* drop the column 'other'"):
            survival_many(frame, by="g", censored=("lo", "hi"))

    def test_a_group_may_be_empty(self):
        with pytest.warns(ns.ConvergenceWarning, match="1 of 2"):
            found = survival_many({"a": [nan, nan], "b": [1.0, nan]})
        assert found.n_missing.tolist() == [2, 1] and found.status.tolist() == [ns.Status.NONE_LEFT, 0]
        assert found["b"].sf(1.0) == 0.0 and "1 without an estimate" in repr(found)


class TestWhatFollows:
    def test_values_of_the_step_function(self):
        found = survival(DRUG, event=SEEN)
        np.testing.assert_allclose(found.sf([5.9, 6.0, 9.99, 35.0]), [1.0, 6 / 7, 0.8067, 0.4482], atol=5e-5)
        assert math.isnan(found.sf(35.1)) and found.cdf(0.0) == 0.0 and np.shape(found.sf(1.0)) == ()
        np.testing.assert_allclose(found.cumulative_hazard(10.0), 3 / 21 + 1 / 17 + 1 / 15, rtol=1e-14)
        of_intervals = survival(None, censored=tuple(months(RADIATION)))
        assert math.isnan(of_intervals.sf(4.5)) and of_intervals.sf(4.0) == 1.0
        np.testing.assert_allclose(of_intervals.sf(5.0), 1.0 - 0.0463, atol=5e-5)
        assert of_intervals.quantile(0.5) == 40.0 and np.isnan(of_intervals.quantile_interval(0.5)).all()

    def test_quantiles(self):
        x = np.random.default_rng(2).normal(size=41)
        found, p = survival(x), np.array([0.0, 0.1, 0.5, 10 / 41, 1.0])
        np.testing.assert_array_equal(found.quantile(p)[1:], np.quantile(x, p, method="inverted_cdf")[1:])
        with pytest.raises(ValueError, match="between 0 and 1"):
            found.quantile(50)
        low, high = found.quantile_interval([0.25, 0.5], level=0.9)
        assert (low < found.quantile([0.25, 0.5])).all() and (high > found.quantile([0.25, 0.5])).all()

    def test_restricted_means(self):
        found = survival(DRUG, event=SEEN)
        t = np.linspace(0.0, 30.0, 300_001)
        at = found.restricted_mean(30.0)
        np.testing.assert_allclose(at.value, np.trapezoid(found.sf(t), t), rtol=1e-5)
        terms, total = found.events / (found.at_risk * (found.at_risk - found.events)), 0.0
        for when, term in zip(found.time, terms, strict=True):
            after = t[t >= when]
            total += np.trapezoid(found.sf(after), after) ** 2 * term if when <= 30.0 else 0.0
        np.testing.assert_allclose(at.se, math.sqrt(total), rtol=1e-4)
        np.testing.assert_allclose(at.upper - at.value, 1.959963984540054 * at.se, rtol=1e-12)
        with pytest.raises(ValueError, match="beyond 35"):
            found.restricted_mean(36.0)

    def test_the_mean_of_complete_values(self):
        x = np.random.default_rng(3).normal(size=60)
        at = survival(x).restricted_mean(100.0)
        np.testing.assert_allclose([at.value, at.se], [x.mean(), x.std() / math.sqrt(60)], rtol=1e-12)
        below = survival(x).restricted_mean(0.5)
        cut = np.minimum(x, 0.5)
        np.testing.assert_allclose([below.value, below.se], [cut.mean(), cut.std() / math.sqrt(60)], rtol=1e-12)

    def test_the_mean_of_intervals_has_bounds(self):
        at = survival(None, censored=tuple(months(RADIATION))).restricted_mean(40.0)
        assert math.isnan(at.se) and "between 29.92" in at.message

    def test_tables_and_pickles(self):
        found = survival(DRUG, event=SEEN)
        assert list(found.summary()) == ["time", "at_risk", "events", "censored", "survival", "se", "lower", "upper", "level"]
        assert "upper 95 %" in repr(found) and "21 values, 9 events" in repr(found) and "<table>" in found._repr_html_()
        of_intervals = survival(None, censored=tuple(months(RADIATION)))
        assert next(iter(of_intervals.summary())) == "since" and pickle.loads(pickle.dumps(of_intervals)).median == 40.0
        with pytest.raises(ValueError, match="'log-log', 'plain'"):
            found.summary(band="log")

    def test_wrong_calls(self):
        for call, words in (
            (lambda: survival([1.0, inf]), "1 of the values are infinite, the first at position 1"),
            (lambda: survival([1.0, 2.0], entry=[0.0, 2.0]), "is not below the time"),
            (lambda: survival(None), "pass values, or censored"),
            (lambda: survival(np.ones((3, 2))), "survival_many"),
            (lambda: survival([1.0, 2.0], event=[0.5, 2.0]), "event has the values"),
        ):
            with pytest.raises((TypeError, ValueError), match=words):
                call()

    def test_a_fit_is_near(self):
        """The estimates of intervals with entries are those of the distribution that they came from."""
        lo, hi, entry = inspected(4000, 11, 4.0, step=1.0)
        found, one = survival(None, censored=(lo, hi), entry=entry), fit(None, "weibull", censored=(lo, hi), entry=entry)
        t = found.time[(found.time > 2.0) & (found.time < 15.0)]
        assert np.abs(found.sf(t) - one.distribution.sf(t)).max() < 0.04
