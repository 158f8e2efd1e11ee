"""Kernels: flags, both twins, threads over parts, and warm-up."""

from __future__ import annotations

import textwrap

import numba
import numpy as np
import pytest

import numbastats.quantile.kernels
from numbastats._core import kernel as kernels
from numbastats.scalar import loops


def test_build_checks_its_arguments():
    with pytest.raises(ValueError, match="nnan"):
        kernels.build(loops.map1_cpu, "serial", fastmath=("nnan",), _f=abs)
    with pytest.raises(ValueError, match="serial"):
        kernels.build(loops.map1_cpu, "gpu", _f=abs)
    with pytest.raises(ValueError, match="already registered"):
        kernels.Kernel(numbastats.quantile.kernels.ANTITHETIC.name, None, None, None)


def test_kernels_pickle_by_name():
    import pickle

    registered = numbastats.quantile.kernels
    for kernel in (*registered.NDTRI.values(), registered.ANTITHETIC):
        assert pickle.loads(pickle.dumps(kernel)) is kernel


def _add_one(x, out):
    for i in range(x.size):
        out[i] = x[i] + 1.0


def test_ctrl_c_during_compilation_is_a_keyboard_interrupt(run_python):
    """LLVM's callbacks lost it, and the call went on. No interrupt is lost now, and the next call is right."""
    code = """
import os, signal, threading, time
import numpy as np
from numbastats._core import kernel
from numbastats.scalar import loops
from numbastats.scalar.elementary import exp, log, sin, tan
x = np.linspace(0.1, 1.0, 100)
heard = 0
for f in (exp, log, sin, tan):
    one, out = kernel.build(loops.map1_cpu, "parallel", _f=f), np.empty(100)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        one(x, out)
        timer.join()
        time.sleep(1)
    except KeyboardInterrupt:
        heard += 1
    one(x, out)
    assert abs(out - getattr(np, f.py_func.__name__)(x)).max() < 1e-14
print(heard)
"""
    assert run_python(code, NUMBASTATS_CACHE="0").split() == ["4"]


def test_split_kernel_calls_its_serial_twin_on_parts(monkeypatch):
    seen = []

    def split(args, parts):
        cuts = [slice(a, a + 7) for a in range(0, args[0].size, 7)]
        seen.extend([parts, len(cuts)])
        return [tuple(a[cut] for a in args) for cut in cuts]

    monkeypatch.setattr(kernels, "REGISTRY", {})
    kernel = kernels.Kernel("demo.split", _add_one, None, lambda T: [(T[::1], T[::1])], split=split)
    x = np.arange(30.0)
    out = np.zeros(30)
    kernel.parallel(x, out)
    assert (out == x + 1).all() and seen == [kernels.PARTS * numba.get_num_threads(), 5]
    assert kernel.parallel.compile == kernel.serial.compile  # warmup compiles nothing twice
    with pytest.raises(numba.TypingError):  # of a thread
        kernel.parallel(x.astype(complex), out)


def test_collector_is_on_again_after_compiling():
    import gc

    kernel = kernels.build(_add_one, "serial")
    kernel(np.arange(3.0, dtype=np.float32), np.zeros(3))
    assert gc.isenabled()


def test_warmup_compiles_every_signature(run_python):
    code = """
import numbastats as ns
n = ns.warmup("quantile", parallel=False)
from numbastats._core.kernel import REGISTRY
ready = [k for k in REGISTRY.values() if k.name.startswith(("quantile.", "random.", "distributions."))]
print(n == sum(len(k.numba_signatures()) for k in ready), n > 20)
"""
    assert run_python(code).split() == ["True", "True"]


def test_warmup_knows_all_topics(run_python):
    code = """
import numbastats as ns
from numbastats._core import kernel, warmup
kernel.Kernel.numba_signatures = lambda k: []  # nothing to compile
kernel.HostLoop.signatures = property(lambda loop: [], lambda loop, given: None)
print(ns.warmup(), {name.split(".")[0] for name in kernel.REGISTRY} == set(warmup.TOPICS))
"""
    assert run_python(code).split() == ["0", "True"]
    with pytest.raises(ValueError, match="'stable'"):
        numbastats.warmup("scalars")


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
    ns.mixture.rvs([0.5, 0.5], [1.0, 2.0], [1.0, 1.0], 10, family=family)
ns.mixture.partial_stats(z, [0.5, 0.5], [1.0, 2.0], [1.0, 1.0], family="inverse_gaussian")
""",
    "quantile": """
u = r.random(5000)
for f in (ns.quantile.ndtri, ns.quantile.standard_normal, ns.quantile.norm_from_exponential, ns.quantile.antithetic):
    f(u) if f is not ns.quantile.standard_normal else f(10)
for law in (ns.quantile.student_t(4.5), ns.quantile.nig(2.0, 0.3, 1.0), ns.quantile.variance_gamma(2.0, 1.5, 0.3)):
    law.ppf(u), law.pdf(x), law.cdf(x), law.rvs(10)
table = ns.quantile.Recycler(lambda t: np.exp(-t * t / 2))
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
