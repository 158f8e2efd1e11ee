"""What the first call in a new process costs: with nothing on disk, with a kernel pack, and with a filled cache.

    python -m numbastats pack                    # once: the pack of this processor's level, beside the package
    python asv_benchmarks/cold.py                # some minutes
    python asv_benchmarks/cold.py --write        # replaces COLD.md
    python asv_benchmarks/cold.py --only stable  # calls whose names have this in them

Seconds are processor time of all threads around the call alone, the least of some processes, without the import; functions are
those that Numba compiled, its own included. The digest is that of the results: it must be the same in all three columns.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = Path(__file__).parent / "COLD.md"

CALLS = {
    "stable.pdf, one number": "ns.stable.pdf(0.5, 1.7, -0.2)",
    "stable.pdf, 20 values": "ns.stable.pdf(x[:20], 1.7, -0.2)",
    "stable.pdf, 10^4 values": "ns.stable.pdf(np.linspace(-5, 5, 10_000), 1.7, -0.2)",
    "stable.cdf, 20 values": "ns.stable.cdf(x[:20], 1.7, -0.2)",
    "stable.ppf": "ns.stable.ppf([0.01, 0.5, 0.99], 1.7, -0.2)",
    "stable.rvs": "ns.stable.rvs(1.7, -0.2, size=1000, rng=1)",
    "stable.fit, 2000 values": "ns.stable.fit(x).params",
    "kde.grid, plane": "ns.kde.grid(plane, ns.kde.regular_axes(plane, shape=64))",
    "KDE().fit, score_samples, plane": "ns.kde.KDE().fit(plane).score_samples(plane[:100])",
    "mixture.fit, normal": "ns.mixture.fit(x, 2, family='gaussian', rng=0).means",
    "mixture.fit_many, gamma": "ns.mixture.fit_many(gammas, 2, family='gamma', rng=0).means",
    "mixture.pdf": "ns.mixture.pdf(x, [0.5, 0.5], [0.0, 1.0], [1.0, 1.0], family='gaussian')",
    "quantile.ndtri": "ns.quantile.ndtri([0.025, 0.5, 0.975])",
    "quantile.QuantileTable": "ns.quantile.QuantileTable(logpdf=lambda v: -(abs(v) ** 1.5)).ppf([0.001, 0.5])",
    "quantile.recycle, Student t": "ns.quantile.recycle(x, 'normal', ns.distributions.student_t(4.0))",
    "distributions.nig, cdf": "ns.distributions.nig(2.0, 0.3, 1.0).cdf(x)",
    "bayes.HorseshoeProbit.fit, 500 x 10": "ns.bayes.HorseshoeProbit(chains=2, warmup=50, draws=50, rng=1).fit(X, y).coef_",
    "random.normal": "ns.random.normal(size=1000, rng=1)",
    "random.gamma": "ns.random.gamma(0.7, size=1000, rng=1)",
    "random.truncnorm": "ns.random.truncnorm(0.0, 1.0, 8.0, np.inf, 1000, rng=1)",
}

PROCESS = """
import hashlib, json, sys, time, warnings
start = time.process_time()
import numpy as np
numpys = time.process_time()
import numbastats as ns
imported = time.process_time()
from numba.core import event
warnings.simplefilter("ignore")  # 50 draws are too few for a posterior
r = np.random.default_rng(0)
x, plane, X, gammas = r.normal(size=2000), r.normal(size=(500, 2)), r.normal(size=(500, 10)), r.gamma(3.0, size=(6, 300))
y = X[:, 0] + r.normal(size=500) > 0
with event.install_recorder("numba:compile") as recorder:
    before = time.process_time()
    result = eval(sys.argv[1])
    seconds = time.process_time() - before
digest = hashlib.sha256(np.ascontiguousarray(result).tobytes()).hexdigest()[:12]
print(json.dumps([seconds, sum(e.is_start for _, e in recorder.buffer), digest, imported - numpys]))
"""


def measured(call, folder, pack):
    """Seconds, functions compiled, digest and seconds of the import, in a new process."""
    env = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    env |= {"NUMBA_CACHE_DIR": folder, "NUMBASTATS_PACK": "1" if pack else "0", "NUMBASTATS_MESSAGES": "0"}
    env |= {"PYTHONPATH": str(ROOT), "OMP_WAIT_POLICY": "passive"}
    done = subprocess.run([sys.executable, "-c", PROCESS, call], env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{call}: {done.stderr}")
    return json.loads(done.stdout)


def row(name, call, repeats):
    """A line of the table, and the seconds of the imports."""
    found, imports = {"empty": [], "pack": [], "cache": []}, []
    for i in range(repeats):
        with tempfile.TemporaryDirectory() as filled, tempfile.TemporaryDirectory() as empty:
            if i < 2:  # the long ones
                found["empty"].append(measured(call, filled, False))
                found["cache"] += [measured(call, filled, False) for _ in range(2)]
            found["pack"].append(measured(call, empty, True))
        imports += [m[3] for m in found["pack"]]
    digests = {m[2] for ms in found.values() for m in ms}
    cells = [f"{min(m[0] for m in found[k]):.2f} | {min(m[1] for m in found[k])}" for k in ("empty", "pack", "cache")]
    return f"| {name} | {' | '.join(cells)} | {'equal' if len(digests) == 1 else 'DIFFERENT'} |", imports


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"replace {TARGET.name}")
    parser.add_argument("--only", default="")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()

    sys.path.insert(0, str(ROOT))
    import numba
    import numpy

    from numbastats._core import cache, numba_internals

    pack = cache.pack()
    if pack is None:
        sys.exit("no kernel pack fits this package: run python -m numbastats pack")
    versions = f"Python {platform.python_version()}, numba {numba.__version__}, numpy {numpy.__version__}"
    lines = [
        f"Measured {datetime.date.today()} by `asv_benchmarks/cold.py` on {numba_internals.processor()}, {os.cpu_count()} cores; "
        f"{versions}. The pack of level {Path(pack.path).stem} has {len(pack)} functions in "
        f"{os.path.getsize(pack.path) / 1e6:.1f} MB.",
        "",
        "Seconds of processor time around the first call in a new process, without the import, and functions compiled in it: "
        "with nothing on disk, with a kernel pack and nothing else, and with the cache that an earlier process has filled.",
        "",
        "| call | empty, s | compiled | pack, s | compiled | cache, s | compiled | results |",
        "|---|---|---|---|---|---|---|---|",
    ]
    imports = []
    for name, call in CALLS.items():
        if options.only in name:
            line, seconds = row(name, call, options.repeats)
            imports += seconds
            lines.append(line)
            print(line, flush=True)
    lines += ["", f"`import numbastats` beyond NumPy's own import: {min(imports):.2f} s of processor time."]
    print(lines[-1])
    if options.write:
        TARGET.write_text("# First calls\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
