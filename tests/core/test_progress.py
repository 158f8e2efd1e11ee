"""Bars of long runs, with and without tqdm, and the lines of the logger."""

from __future__ import annotations

import logging
import re
import sys

import numpy as np
import pytest

import numbastats as ns
from numbastats._core import kernel, progress
from numbastats._core.progress import bar

pytestmark = pytest.mark.filterwarnings("ignore:the chains have not converged")
SETS = [np.random.default_rng(i).gamma(2.0, size=40) for i in range(5)]
X = np.random.default_rng(1).normal(size=(60, 2))


@pytest.fixture
def terminal(monkeypatch):
    """As if stderr were one; tests that do not take it write to a file."""
    monkeypatch.setattr(progress, "_shows_again", lambda: True)


class Pool:
    map = staticmethod(map)


RUNS = {
    "stable.fit_many": (lambda **o: ns.stable.fit_many(SETS, "quantile", **o).params, 5),
    "mixture.fit_many": (lambda **o: ns.mixture.fit_many(SETS, 1, family="gamma", **o).centres, 5),
    "distributions.fit_many": (lambda **o: ns.distributions.fit_many(SETS, "gamma", **o).params, 5),
    "kde.grid": (lambda **o: ns.kde.grid(X, [(-3.0, 3.0, 9)] * 2, **{"workers": Pool()} | o), 1),
    "sampling": (
        lambda **o: ns.bayes.HorseshoeProbit(chains=2, warmup=50, draws=30, rng=1, **o).fit(X, X[:, 0] > X[:, 1]).draws_["beta"],
        80,
    ),
}


@pytest.mark.parametrize("tqdm", [True, False])
@pytest.mark.parametrize("executor", [None, Pool()], ids=["threads", "executor"])
@pytest.mark.parametrize("name", RUNS)
def test_bars(name, executor, tqdm, monkeypatch, capsys, terminal):
    if tqdm:
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(kernel, "ANNOUNCED_AFTER", 1e6)  # no message of the compiler, also from other threads
    call, parts = RUNS[name]
    options = {} if executor is None else {"workers": executor}
    quiet = call(**options)
    assert capsys.readouterr().err == ""
    shown = call(**options, progress=True)
    np.testing.assert_array_equal(shown, quiet)
    said = capsys.readouterr().err
    assert name in said and f"{parts}/{parts}" in said, said


def test_goodness_shows_its_simulations(monkeypatch, capsys, terminal):
    monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: None)
    ns.stable.goodness(SETS[0], method="quantile", draws=19, rng=1, progress=True)
    assert "stable.fit_many: 19/19" in capsys.readouterr().err


def test_profiles_show_the_number_of_fits(monkeypatch, capsys, terminal):
    monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: None)
    found = ns.stable.profile(SETS[0] - SETS[0].mean(), "scale", progress=True)
    assert f"stable.profile: {len(found.values) - 1}, " in capsys.readouterr().err


def test_a_line_without_a_known_end(monkeypatch, capsys, terminal):
    monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    with bar(True, None, "profile") as shown:
        shown.update()
        shown.update(2)
    said = capsys.readouterr().err
    assert said.startswith("\rprofile: 1, 0 s\rprofile: 3, 0 s") and said.endswith("\n")


def test_a_line_says_how_long_is_left(monkeypatch, capsys, terminal):
    monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    clock = iter([0.0, 10.0, 10.0, 12.0, 12.0, 12.0]).__next__
    monkeypatch.setattr(progress.time, "perf_counter", clock)
    with bar(True, 4, "climbs") as shown:
        shown.update()
        shown.update(3)
    *_, first, second, last = capsys.readouterr().err.split("\r")
    assert first == "climbs: 1/4, 10 s, about 30 s left" and second == f"{'climbs: 4/4, 12 s':<{len(first)}}"
    assert last == "climbs: 4/4, 12 s\n"
    assert progress.time_left(60.0, 10, 100) == ", about 9 min left"
    assert progress.time_left(1.0, 0, 100) == progress.time_left(1.0, 5, None) == progress.time_left(1.0, 5, 5) == ""


def test_a_log_file_gets_one_line(monkeypatch, capsys):
    """With and without tqdm, at the end; a notebook writes lines over."""
    monkeypatch.setattr(progress, "EVERY", 0.0)
    with bar(True, 3, "climbs") as shown:
        for _ in range(3):
            shown.update()
        assert capsys.readouterr().err == ""
    assert re.fullmatch(r"climbs: 3/3, \d+ s\n", capsys.readouterr().err)
    monkeypatch.setattr(type(sys.stderr), "__module__", "ipykernel.iostream")
    assert progress._shows_again()


def test_the_logger(caplog):
    """Silent unless it is asked; then it says where a kernel runs."""
    with caplog.at_level(logging.DEBUG, logger="numbastats"):
        ns.quantile.ndtri(np.linspace(0.1, 0.9, 9), device="cpu", workers=1)
    assert any("9 items on cpu, workers=1" in message for message in caplog.messages)
    caplog.clear()
    ns.quantile.ndtri(np.linspace(0.1, 0.9, 9), device="cpu", workers=1)
    assert not caplog.messages


def test_the_logger_tells_of_the_compiler_and_the_cache(run_python, tmp_path):
    code = f"""if True:
        import logging, sys
        logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, format="%(name)s %(message)s")
        logging.getLogger("numba").setLevel(logging.WARNING)
        import numpy as np
        from numbastats._core.kernel import bind, build
        from numbastats.scalar import elementary, loops
        f = bind(elementary.exp, NOBODY_ELSE_S={str(tmp_path)!r})  # the folder beside the package may have what others compiled
        build(loops.map1_cpu, "serial", _f=f)(np.ones(9), np.ones(9))"""
    first, second = (run_python(code, NUMBA_CACHE_DIR=str(tmp_path), NUMBASTATS_PACK="0") for _ in range(2))
    assert "in no cache, so it is compiled" in first and f"kept in the cache {tmp_path}" in first
    assert f"taken from the cache {tmp_path}" in second and "compiled" not in second.replace("(compiled, or from the cache)", "")
    assert all(line.startswith("numbastats ") for line in first.splitlines())
