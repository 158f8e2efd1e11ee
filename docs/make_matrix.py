"""Try every function with every kind of array and every way to run, and write the table of docs/matrix.md.

    python docs/make_matrix.py

What is not installed is not tried. CUDA runs in Numba's simulator, in a process of its own, unless there is a GPU. A result that
is not that of NumPy stops the script.
"""

import argparse
import concurrent.futures
import datetime
import importlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
SIMULATED = "--cuda" in sys.argv and "--gpu" not in sys.argv
if SIMULATED:
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import numba  # noqa: E402
import numpy as np  # noqa: E402

import numbastats as ns  # noqa: E402

LIMIT = 500  # seconds for CUDA
X = np.linspace(0.05, 0.95, 24)
SETS = np.exp(np.sin(np.arange(120.0)).reshape(2, 60) * 1.3)  # two data sets
DESIGN = np.sin(np.arange(80.0) ** 2).reshape(40, 2)
CLASSES = DESIGN[:, 0] + np.cos(np.arange(40.0)) > 0
PARAMS = dict(weights=[0.4, 0.6], centres=[0.3, 0.7], params=[2.0, 5.0], family="gamma")
AXES = [(-1.0, 2.0, 16)]
PLAN = ns.kde.plan(X, AXES)
TABLE = ns.distributions.student_t(4.0)
T = ns.distributions.StudentT(4.0)
FEW = dict(chains=1, warmup=60, draws=10, rng=1)


def probit(x, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ten draws have not converged
        return ns.bayes.HorseshoeProbit(**FEW, **options).fit(x, CLASSES).coef_


def density_at_two(x, **options):
    column = x.to_frame() if kind(x) == "pandas" else x[:, None]
    return ns.kde.KDE(**options).fit(column).score_samples(np.array([[0.2], [0.5]]))


# function: name of what it is called on, and the call
CALLS = {
    "quantile.ndtri": (X, ns.quantile.ndtri),
    "quantile.QuantileTable.ppf": (X, TABLE.ppf),
    "quantile.recycle": (X, lambda x, **o: ns.quantile.recycle(x, "normal", TABLE, **o)),
    "distributions: pdf": (X, T.pdf),
    "distributions: cdf": (X, T.cdf),
    "distributions: ppf": (X, T.ppf),
    "distributions.fit_many": (SETS, lambda x, **o: ns.distributions.fit_many(x, "gamma", **o).params),
    "distributions.standardise": (SETS, ns.distributions.standardise),
    "stable.pdf": (X, lambda x, **o: ns.stable.pdf(x, 1.7, 0.2, **o)),
    "stable.ppf": (X, lambda x, **o: ns.stable.ppf(x, 1.7, 0.2, **o)),
    "stable.rvs": (X, lambda x, **o: ns.stable.rvs(1.7, 0.2, x, rng=1, **o)),
    "stable.score": (X, lambda x, **o: ns.stable.score(x, 1.7, 0.2, **o)),
    "stable.fit": (SETS[0], lambda x, **o: ns.stable.fit(x, "quantile", **o).params),
    "stable.fit_many": (SETS, lambda x, **o: ns.stable.fit_many(x, "quantile", **o).params),
    "random.normal": (X, lambda x, **o: ns.random.normal(x, rng=1, **o)),
    "random.gamma": (X, lambda x, **o: ns.random.gamma(x, rng=1, **o)),
    "random.truncnorm": (X, lambda x, **o: ns.random.truncnorm(x, 1.0, 1.0, 2.0, rng=1, **o)),
    "kde.grid": (X, lambda x, **o: ns.kde.grid(x, AXES, **o)),
    "kde.points": (X, lambda x, **o: ns.kde.points(x, np.array([0.2, 0.5]), **o)),
    "kde.KDE": (X, density_at_two),
    "kde.partial": (X, lambda x, **o: ns.kde.finalize(ns.kde.partial(x, PLAN, **o), PLAN)),
    "mixture.pdf": (X, lambda x, **o: ns.mixture.pdf(x, **PARAMS, **o)),
    "mixture.responsibilities": (X, lambda x, **o: ns.mixture.responsibilities(x, **PARAMS, **o)),
    "mixture.cdf": (X, lambda x, **o: ns.mixture.cdf(x, **PARAMS, **o)),
    "mixture.fit_many": (SETS, lambda x, **o: ns.mixture.fit_many(x, 1, family="gamma", rng=0, **o).params),
    "mixture.partial_stats": (X, lambda x, **o: ns.mixture.partial_stats(x, **PARAMS, **o)),
    "bayes.HorseshoeProbit.fit": (DESIGN, probit),
    "bayes.log_ndtr": (X, ns.bayes.log_ndtr),
    "bayes.rhat": (SETS, ns.bayes.rhat),
}
COLUMNS = ("NumPy", "float32", "torch", "CuPy", "pandas", "dask array", "threads", "Executor", "CUDA")


def installed(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def kind(result):
    return type(result).__module__.partition(".")[0]


def on_host(result):
    result = result.compute() if kind(result) == "dask" else result
    return np.asarray(result.get() if kind(result) == "cupy" else result, float)


def attempt(call, x, options, expected, want):
    """The word for a cell. An array in one kind should come back in it; `want` is that kind."""
    try:
        result = call(x, **options)
    except (TypeError, ValueError, NotImplementedError) as error:
        told = isinstance(error, TypeError) or any(word in str(error) for word in ("device", "workers", "pass "))
        return "no" if told else f"error: {error}"
    single = str(getattr(x, "dtype", "")).endswith("float32")
    if not np.allclose(on_host(result), expected, rtol=2e-3 if single else 1e-9, atol=1e-5 if single else 1e-12, equal_nan=True):
        raise SystemExit(f"{call} with {want}: {result} is not {expected}")
    if want == "float32":
        return "yes" if str(getattr(result, "dtype", "")).endswith("float32") else "float64 out"
    return "yes" if kind(result) == want or want == "numpy" else "NumPy out"


def cells(name):
    """Words of one row but for CUDA."""
    data, call = CALLS[name]
    expected = on_host(call(data))
    torch, cupy, pandas, dask = map(installed, ("torch", "cupy", "pandas", "dask.array"))
    labelled = (pandas.Series if data.ndim == 1 else pandas.DataFrame) if pandas else None
    untried, draws = "not tried", name.startswith(("random", "stable.rvs"))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return [
            attempt(call, data, {}, expected, "numpy"),
            "own stream" if draws else attempt(call, data.astype(np.float32), {}, expected, "float32"),
            attempt(call, torch.from_numpy(data.copy()), {}, expected, "torch") if torch else untried,
            attempt(call, cupy.asarray(data), {}, expected, "cupy") if cupy else untried,
            attempt(call, labelled(data), {}, expected, "pandas") if pandas else untried,
            attempt(call, dask.from_array(data, chunks=7), {}, expected, "dask") if dask else untried,
            attempt(call, data, {"workers": 2}, expected, "numpy"),
            attempt(call, data, {"workers": pool}, expected, "numpy"),
        ]


def cuda_rows():
    """Print a line of JSON for every function, as soon as it is known."""
    ns.config.set(workers=1)  # the simulator runs one kernel at a time
    for name, (data, call) in CALLS.items():
        print(json.dumps([name, attempt(call, data, {"device": "cuda"}, on_host(call(data)), "numpy")]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cuda", action="store_true", help="print what runs with device='cuda', one function a line")
    parser.add_argument("--gpu", action="store_true", help="with --cuda: on the GPU, not in the simulator")
    if parser.parse_args().cuda:
        return cuda_rows()
    gpu = ns.has_gpu()
    command = [sys.executable, __file__, "--cuda", *(["--gpu"] if gpu else [])]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        lines = child.communicate(timeout=LIMIT)[0]
    except subprocess.TimeoutExpired:
        child.kill()
        lines = child.communicate()[0]
    cuda = dict(json.loads(line) for line in lines.splitlines())
    rows = [[f"`{name}`", *cells(name), cuda.get(name, "not tried")] for name in CALLS]
    table = "\n".join("| " + " | ".join(row) + " |" for row in [("function", *COLUMNS), ("---",) * (1 + len(COLUMNS)), *rows])
    modules = {name: installed(name) for name in ("numpy", "torch", "cupy", "pandas", "dask")}
    versions = ", ".join(f"{name} {module.__version__}" if module else f"no {name}" for name, module in modules.items())
    speed = "that they run there says nothing about speed, for which see [benchmarks](benchmarks.md#whole-calls-on-a-gpu)"
    where = "a GPU" if gpu else f"Numba's simulator: {speed}"
    (HERE / "matrix.md").write_text(
        f"""# What works with what

Written by `python docs/make_matrix.py` on {datetime.date.today()}, which tries each of these calls and compares the results
with NumPy's: numbastats {ns.__version__}, numba {numba.__version__}, {versions}.
CUDA kernels ran in {where}.

{table}

| word | meaning |
|---|---|
| yes | the result is of the kind, or the float type, that went in |
| NumPy out | it works; the result is a NumPy array |
| float64 out | single precision goes in, the result is double |
| own stream | float32 draws are others than float64 draws, by design |
| no | refused with a message that names the remedy, or there is no such argument |
| not tried | the package is not installed here, or time was up |

pandas is a series, or a frame where data sets or columns are asked for; of a dask array in parts comes back one that is not
computed yet. "threads" is `workers=2`, "Executor" a thread pool as `workers=`, "CUDA" `device="cuda"` with NumPy arrays: the
parts of the work that have kernels run there, the rest on the host.
""",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
