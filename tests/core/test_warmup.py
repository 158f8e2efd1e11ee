"""Compiling ahead of use: completeness, several processes, the command line."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import numbastats
from numbastats import __main__ as command
from numbastats._core import warmup as compiling
from numbastats._core.errors import DeviceNotAvailable

pytestmark = pytest.mark.slow


def test_warmup_compiles_every_signature(run_python):
    code = """
import numbastats as ns
n = ns.warmup("quantile", parallel=False)
from numbastats._core.kernel import HOST_LOOPS, REGISTRY
rooms = ("quantile.", "random.", "distributions.", "_core.")
kernels = [len(k.numba_signatures()) for k in REGISTRY.values() if k.name.startswith(rooms) and k.on_host]
loops = [len(loop.signatures) for loop in HOST_LOOPS.values() if loop.name.startswith(rooms)]
print(n == sum(kernels) + sum(loops), n > 20)
"""
    assert run_python(code).split() == ["True", "True"]


def test_warmup_knows_all_topics(run_python):
    code = """
import numbastats as ns
from numbastats._core import kernel, warmup
kernel.Kernel.numba_signatures = lambda k: []  # nothing to compile
kernel.HostLoop.signatures = property(lambda loop: [], lambda loop, given: None)
print(ns.warmup(), {name.split(".")[0] for name in kernel.REGISTRY} == {*warmup.TOPICS, "_core"})
"""
    assert run_python(code).split() == ["0", "True"]
    with pytest.raises(ValueError, match="'stable'"):
        numbastats.warmup("scalars")


def test_warmup_takes_several_topics_and_kernels(run_python):
    code = """
import numbastats as ns
from numbastats._core import warmup
labels = lambda *wanted: [job.label for job in warmup._jobs(wanted, "cpu", True)]
print(labels("random", "quantile") == list(dict.fromkeys(labels("random") + labels("quantile"))))
print(labels("stable.rvs_S0 parallel 0", "stable.zeta"), {job.split()[0] for job in labels("kde.place")})
print(ns.warmup(["stable.zeta", "stable.tan_half_pi serial 0"]), warmup.in_use())
ns.distributions.fit([1.0, 2.0, 4.0], "gamma")
print([label for label in warmup.in_use() if ".fit" in label])
for wrong in ("stable.rvs", "stable.zeta parallel", "scalar.exp"):
    try:
        ns.warmup([wrong])
    except ValueError as error:
        print(error)
"""
    lines = run_python(code).splitlines()
    assert lines[0] == "True" and lines[1] == "['stable.rvs_S0 parallel 0', 'stable.zeta serial 0'] {'kde.place'}"
    assert lines[2] == "2 ['stable.tan_half_pi serial 0', 'stable.zeta serial 0']"
    assert lines[3] == "['distributions.fit_gamma serial 0']"
    assert (
        "no kernel 'stable.rvs'" in lines[4] and "no kernel 'stable.zeta parallel'" in lines[5] and "topic='scalar'" in lines[6]
    )


def test_kernels_of_other_topics_exist():
    """Every prefix of `USES` is that of a kernel, and all families of mixtures have theirs."""
    from numbastats.mixture.families import _COMPONENTS, _COUNTS, FAMILIES

    labels = [job.label for job in compiling._jobs("distributions", "cpu", False)]
    assert all(any(map(str.startswith, labels, [use] * len(labels))) for uses in compiling.USES.values() for use in uses)
    assert set(compiling._OF_MIXTURES.split()) == FAMILIES.keys() & {*_COMPONENTS, *_COUNTS}


def test_the_tour_calls_the_kernels_of_its_list(tmp_path):
    """All of them and no others, in full size; in smoke size shorter calls take other twins."""
    for package in ("matplotlib", "sklearn", "arch"):
        pytest.importorskip(package)
    script, env = Path(__file__).parents[2] / "examples" / "tour_kernels.py", {**os.environ, "NUMBASTATS_SMOKE": "0"}
    env.pop("NUMBA_ENABLE_CUDASIM", None)
    done = subprocess.run([sys.executable, script, "--output", tmp_path], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert "\r" not in done.stderr and "numbastats compiles" not in done.stderr


def test_progress_of_warmup(run_python, capsys):
    """A bar, and where it cannot be drawn again one line; and with all on the disk no process is started."""
    code = """
import contextlib, io, re
import numbastats as ns
from numbastats._core import warmup
for workers in (1, 2):
    with contextlib.redirect_stderr(io.StringIO()) as said:
        ns.warmup("stable.zeta stable.tan_half_pi".split(), workers=workers, progress=True)
    print(re.fullmatch("warmup: 2/2, [0-9]+ s\\n", said.getvalue()) is not None)
    warmup.subprocess.Popen = None
said = io.StringIO()
said.isatty = lambda: True
with contextlib.redirect_stderr(said):
    ns.warmup("stable.zeta stable.tan_half_pi".split(), progress=True)
print(said.getvalue().startswith("\\rwarmup: ") and "2/2" in said.getvalue())
"""
    assert run_python(code).split() == ["True", "True", "True"]


AFTER_WARMUP = {
    "bayes": """
X, y = r.normal(size=(60, 3)), r.integers(0, 2, 60)
for prior in ("horseshoe", "lasso"):
    for standardize in (False, True):
        ns.bayes.BayesProbit(prior, warmup=50, draws=20, chains=2, rng=1, standardize=standardize).fit(X, y).predict_proba(X)
ns.bayes.log_ndtr(x), ns.bayes.inv_mills(x), ns.bayes.log_exe1(abs(x)), ns.bayes.truncnorm_rvs(x)
""",
    "kde": """
for d in (1, 2, 3):
    z, w = r.normal(size=(300, d)), r.random(300)
    z.flags.writeable = False
    for weights in (None, w):
        for kernel in ("epanechnikov", "gaussian", "triangular"):
            f = ns.kde.grid(z, ns.kde.regular_axes(z, shape=12), weights=weights, kernel=kernel)
            ns.kde.points(z, z[:7], weights=weights, kernel=kernel)
    ns.kde.grid(z, ns.kde.regular_axes(z, shape=12), adaptive=("abramson", 0.5))
    for rule in ("scott", "plugin", "lscv"):
        getattr(ns.kde.bandwidth, rule)(z)
ns.kde.bandwidth.isj(x)
ns.kde.KDE(h=0.5).fit(x).score_samples(x)
""",
    "mixture": """
z = r.wald(1.0, 3.0, 400)
for family in ("inverse_gaussian", "gamma", "gaussian"):
    ns.mixture.fit_many([z, z[:200]], 2, family=family, rng=0)
    ns.mixture.fit(r.wald(1.0, 3.0, 200_000), 2, family=family, rng=0, n_init=1)
    for f in (ns.mixture.pdf, ns.mixture.cdf, ns.mixture.responsibilities):
        f(z, [0.5, 0.5], [1.0, 2.0], [1.0, 1.0], family=family)
    ns.mixture.ppf(0.3, [0.5, 0.5], [1.0, 2.0], [1.0, 1.0], family=family)
    ns.mixture.sf(z, [0.5, 0.5], [1.0, 2.0], [1.0, 1.0], family=family)
    ns.mixture.isf(0.3, [0.5, 0.5], [1.0, 2.0], [1.0, 1.0], family=family)
    ns.mixture.rvs([0.5, 0.5], [1.0, 2.0], [1.0, 1.0], 10, family=family)
ns.mixture.partial_stats(z, [0.5, 0.5], [1.0, 2.0], [1.0, 1.0], family="inverse_gaussian")
""",
    "quantile": """
u = r.random(5000)
for f in (ns.quantile.ndtri, ns.quantile.standard_normal, ns.quantile.norm_from_exponential, ns.quantile.antithetic):
    f(u) if f is not ns.quantile.standard_normal else f(10)
for law in (ns.distributions.student_t(4.5), ns.distributions.nig(2.0, 0.3, 1.0), ns.distributions.variance_gamma(2.0, 1.5, 0.3)):
    law.ppf(u), law.pdf(x), law.cdf(x), law.rvs(10)
table = ns.quantile.QuantileTable(lambda t: np.exp(-t * t / 2))
table.ppf(u), table.pdf(x), table.rvs(10)
""",
    "stable": """
for alpha, beta in ((1.7, -0.2), (1.0, 0.5), (0.6, 0.9)):
    for f in (ns.stable.pdf, ns.stable.logpdf, ns.stable.cdf, ns.stable.sf, ns.stable.score):
        f(x, alpha, beta)
    ns.stable.ppf(r.random(50), alpha, beta), ns.stable.pdf_cdf(x, alpha, beta)
    ns.stable.pdf(x, np.full(50, alpha), beta), ns.stable.rvs(alpha, beta, size=10)
y = ns.stable.rvs(1.6, 0.2, size=300, rng=1)
for method in ("ml", "ecf", "quantile"):
    ns.stable.fit(y, method)
ns.stable.fit_many([y, y[:100]])
""",
    "random": """
for T in ("f8", "f4"):
    for a in (1.0, np.ones(3)):
        ns.random.uniform(-a, a, 3, dtype=T), ns.random.normal(a, a, 3, dtype=T), ns.random.exponential(a, 3, dtype=T)
        ns.random.gamma(a, a, 3, dtype=T), ns.random.truncnorm(a, a, a, a, 3, dtype=T)
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("room", AFTER_WARMUP)
def test_nothing_is_compiled_after_warmup(run_python, room):
    """Loops that run on the host alone were left out."""
    code = f"""
import numpy as np, warnings
import numbastats as ns
from numba.core import event
from numbastats._core import cache
warnings.simplefilter("ignore")
ns.warmup({room!r}, parallel=False)
ns.config.set(workers=1, device="cpu")
r = np.random.default_rng(1)
x = r.normal(size=50)
found, load = set(), cache._Entries.load
cache._Entries.load = lambda entries, key: found.add(entries._stem) or load(entries, key)
with event.install_recorder("numba:compile") as recorder:
{textwrap.indent(AFTER_WARMUP[room], "    ")}
print(sorted(found | {{e.data["dispatcher"].py_func.__name__ for _, e in recorder.buffer}}))
"""
    assert run_python(code).strip() == "[]"


def test_processes_side_by_side_compile_what_one_does(run_python, tmp_path):
    """Each of two is handed the next job when it is ready; the calls afterwards compile nothing."""
    code = """
import numbastats as ns
from numbastats._core import cache
seen = []
n = ns.warmup("random", parallel=False, workers=2, progress=lambda *state: seen.append(state))
saved = []
cache._Entries.save = lambda entries, key, data: saved.append(entries._stem)
ns.random.normal(size=10), ns.random.gamma(0.7, size=10), ns.random.truncnorm(0.0, 1.0, 0.0, 1.0, 5, dtype="f4")
print(n, [done for done, _, _ in seen] == list(range(1, n + 1)), {total for _, total, _ in seen} == {n}, saved)
"""
    n, *rest = run_python(code, NUMBA_CACHE_DIR=str(tmp_path), NUMBASTATS_PACK="0").split(maxsplit=1)
    assert int(n) > 10 and rest == ["True True []\n"]


def test_a_process_goes_on_with_the_sub_package_that_it_has_begun():
    """What its kernels share is compiled there already; every job is handed out once."""
    names = ("stable.a", "kde.a", "stable.b", "kde.b", "random.a", "stable.c")
    ahead = compiling._Ahead([compiling.Job(name, "serial", (), name) for name in names])
    first, second = iter(ahead), iter(ahead)
    assert [names[next(first)], names[next(second)], names[next(second)]] == ["stable.a", "kde.a", "kde.b"]
    assert [names[next(first)], names[next(second)], names[next(second)]] == ["stable.b", "random.a", "stable.c"]
    assert next(first, None) is next(second, None) is None


def test_a_failure_in_another_process_is_raised():
    """With the name of the kernel."""
    job = compiling.Job("random.nothing", "serial", (), "random.nothing serial 0")
    with pytest.raises(RuntimeError, match="1 of 1 compiling processes failed: random.nothing: the process ended"):
        compiling._side_by_side([job], ("no topic", "cpu", False), 2, None)


def test_arguments_of_warmup(monkeypatch):
    for workers in (0, 1.5, True, -2):
        with pytest.raises(ValueError, match="number of processes"):
            numbastats.warmup("random", workers=workers)
    with pytest.raises(ValueError, match="'cuda'"):
        numbastats.warmup("random", device="gpu")
    with pytest.raises(DeviceNotAvailable, match="compiled for one"):
        numbastats.warmup("random", device="cuda")  # the simulator compiles nothing
    monkeypatch.setenv("NUMBASTATS_CACHE", "0")
    with pytest.raises(ValueError, match="workers=1"):
        numbastats.warmup("random", workers=2)
    with pytest.raises(ValueError, match="x86-64-v3"):
        compiling.build_packs(["x86-64-v9"])


def test_command_line(monkeypatch, capsys):
    calls = []
    monkeypatch.setattr(command, "warmup", lambda *args, **options: calls.append((args, options)) or 7)
    assert command.main(["warmup", "stable", "--workers", "2", "--serial"]) == 0
    (args, options), out = calls.pop(), capsys.readouterr().out
    options["progress"](50, 100, "stable.points")
    assert args == (["stable"],) and options["workers"] == 2 and options["parallel"] is False and "7 variants" in out
    said = capsys.readouterr().err
    assert "50/100 kernels, about " in said and "left" in said
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(command, "warmup", lambda *args, progress, **options: progress(1, 2, "a") or progress(2, 2, "b") or 2)
    assert command.main(["warmup"]) == 0 and "2/2" in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    monkeypatch.setattr(command, "build_packs", lambda levels, folder, **options: {"x86-64-v3": 5_000_000})
    assert command.main(["pack", "--level", "x86-64-v3"]) == 0 and capsys.readouterr().out == "x86-64-v3: 5.0 MB\n"
    assert command.main(["info"]) == 0
    out = capsys.readouterr().out
    assert "kernel pack" in out and "self-check" not in out
    monkeypatch.undo()
    assert command.main(["warmup", "--device", "cuda"]) == 2 and "GPU" in capsys.readouterr().err
    assert command.main(["warmup", "statistics"]) == 2 and "'stable'" in capsys.readouterr().err
    for wrong in (["pack", "--level", "i386"], ["clean"]):
        with pytest.raises(SystemExit):
            command.main(wrong)


WAIT = """
import time, threading
import numpy as np
from numbastats import config
from numbastats._core import kernel
kernel.ANNOUNCED_AFTER = 0.05
config.set(messages={messages})
def slow(signature):
    time.sleep(0.3)
kernel._undisturbed(slow, "users", "slow")(())
kernel.ANNOUNCED_AFTER = 5.0
kernel._undisturbed(slow, "numbastats.bayes.kernels", "slow")(())
kernel.ANNOUNCED_AFTER = 0.05
for module in ("numbastats.kde.kernels.rows", "numbastats.kde.kernels.points", "numbastats.stable.kernels.points"):
    kernel._undisturbed(slow, module, "slow")(())
"""


@pytest.mark.parametrize("messages", [True, False])
def test_a_long_compilation_says_so_once_in_a_process(messages):
    env = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    done = subprocess.run([sys.executable, "-c", WAIT.format(messages=messages)], capture_output=True, text=True, env=env)
    lines = done.stderr.splitlines()
    assert done.returncode == 0 and done.stdout == "" and len(lines) == (1 if messages else 0)
    for line in lines:
        assert line.startswith("numbastats compiles a function of numbastats.kde ")
        assert "`python -m numbastats warmup kde`" in line and "messages=False" in line
