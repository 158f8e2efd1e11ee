"""Track one small benchmark over two commits, as a user would: asv run, asv compare, asv publish.

    python asv_benchmarks/try_range.py

All of it happens in a clone in a temporary folder, of the commit that is checked out and the one before it; where the clone is
too short, it gets empty commits. The published graph must have a point for each commit. The environment has what the package
needs and no peers, which this benchmark does without.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import json5  # asv reads its configuration with it

ROOT = Path(__file__).parents[1]
BENCHMARK = "bench_quantile.Scalar.time_float"


def run(*command, cwd, show=True):
    """Run a command and return what it wrote, which is shown by default; stop at the first that fails."""
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if show or done.returncode:
        print(done.stdout, end="", flush=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with status {done.returncode}")
    return done.stdout


def clone(target):
    """A clone with at least three commits: a range names the commit before its first."""
    run("git", "clone", "-q", f"file://{ROOT}", str(target), cwd=ROOT)
    known = subprocess.run(["git", "rev-list", "--first-parent", "--count", "HEAD"], cwd=target, capture_output=True, text=True)
    author = ("-c", "user.name=try_range", "-c", "user.email=try_range@localhost")
    for _ in range(int(known.stdout), 3):
        run("git", *author, "commit", "-q", "--allow-empty", "-m", "The same again", cwd=target)


def points(html):
    """Points of the graph of the benchmark."""
    graphs = list((html / "graphs").glob(f"arch-*/**/{BENCHMARK}.json"))
    if len(graphs) != 1:
        sys.exit(f"{len(graphs)} graphs of {BENCHMARK} in {html}, not one")
    return [point for point in json.loads(graphs[0].read_text()) if point[1] is not None]


def main():
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        clone(Path(folder, "numbastats"))
        where = Path(folder, "numbastats", "asv_benchmarks")
        conf = json5.loads((where / "asv.conf.json").read_text())
        install = [f"{command} --no-compile" for command in conf["install_command"]]  # to byte code what is imported
        (where / "asv.conf.json").write_text(json.dumps(conf | {"matrix": {}, "install_command": install}))

        def asv(*arguments, show=True):
            return run(sys.executable, "-m", "asv", *arguments, cwd=where, show=show)

        asv("machine", "--yes", show=False)
        lines = asv("run", "HEAD~2..HEAD", "--quick", "--show-stderr", "--bench", f"^{BENCHMARK}$")
        if "numbastats compiles" in lines:
            sys.exit("asv run shows a line for what set-ups compile")
        if BENCHMARK not in asv("compare", "HEAD~1", "HEAD"):
            sys.exit("asv compare does not name the benchmark")
        asv("publish", show=False)
        found = points(where / conf["html_dir"])
    if len(found) != 2 or not all(seconds > 0 for _, seconds in found):
        sys.exit(f"the published graph has the points {found}, not one for each of two commits")
    print(f"asv: a published graph with {len(found)} points after {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
