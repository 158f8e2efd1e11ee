"""Run examples of the gallery, each alone in a folder of its own, as who has downloaded it.

    python docs/run_gallery.py [--smoke] [--pictures FOLDER] [NAME ...]

Their sizes are those of the built pages: seconds each. ``--smoke`` makes them as small as runs, by the table below, to see that
everything works; ``--pictures`` keeps the first picture of each as the thumbnail of its page, of which docs/images/gallery has all.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
SMOKE = {  # names that an example sets, and what they are set to
    "plot_bayes_probit": dict(ROWS=2_000, COLUMNS=20, ITERATIONS=100, SIZES=(1_000, 4_000)),
    "plot_compare_families": dict(COUNT=19),
    "plot_conditional_density": dict(POSITIONS=(25, 85)),
    "plot_kde_grid": dict(SAMPLES=500, SHAPE=(40, 42)),
    "plot_kde_speed": dict(SAMPLES_DIVIDED_BY=1000, GRIDS_DIVIDED_BY=10),
    "plot_mixture_bmi": dict(MOST=2),
    "plot_mixture_clusters": dict(MOST=2),
    "plot_mixture_tables": dict(SINGLE={100: (0.0062, 0.01576)}, MANY={10: (1.12048, 0.05364)}, VALUES=200),
    "plot_quantile_kernels": dict(VALUES=4_096, POINTS=40, ROUNDS=3),
    "plot_quantile_recycle": dict(DRAWS=20_000, SIZES=[64, 256], RUNS=4),
    "plot_sparse_regression": dict(DRAWS=500),
    "plot_stable_density": dict(POINTS=50, EVERY=5, SIZES=(100, 1_000), ALPHAS=[0.3, 0.9, 1.5]),
    "plot_stable_fit": dict(ALPHAS=[0.4, 1.5], BETAS=[0.5], SETS=2, SIZE=200),
}
KEEP = """
from matplotlib import pyplot as _plt
_plt.figure(_plt.get_fignums()[0])
_plt.gcf().set_size_inches(*(4.0 * s / max(_plt.gcf().get_size_inches()) * 1.6 for s in _plt.gcf().get_size_inches()))
_plt.savefig({path!r}, dpi=55)
"""


def with_sizes(source, values):
    """The source with other values for names that it sets at its top level; a name that it does not set is an error."""
    tree = ast.parse(source)
    left = dict(values)
    for statement in tree.body:
        if not isinstance(statement, ast.Assign):
            continue
        (target,) = statement.targets
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        if not all(isinstance(name, ast.Name) for name in names):
            continue
        given = statement.value.elts if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple) else [statement.value]
        for i, name in enumerate(names):
            if name.id in left and len(given) == len(names):
                given[i] = ast.parse(repr(left.pop(name.id)), mode="eval").body
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            statement.value.elts = given
        else:
            statement.value = given[0]
    if left:
        raise ValueError(f"the example does not set {', '.join(left)}")
    return ast.unparse(ast.fix_missing_locations(tree))


def script(name):
    """The file of an example, of whichever section."""
    (path,) = EXAMPLES.rglob(f"{name}.py")
    return path


def run(name, smoke, pictures):
    """Run one; its exit status."""
    source = script(name).read_text(encoding="utf-8")
    source = with_sizes(source, SMOKE.get(name, {}) if smoke else {})
    if pictures is not None:
        source += KEEP.format(path=str(pictures.resolve() / f"{name}.png"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.py")
        path.write_text(source, encoding="utf-8")
        return subprocess.run([sys.executable, path.name], cwd=folder, env={**os.environ, "MPLBACKEND": "Agg"}).returncode


def main():
    """Run those that are asked for, all by default; the exit status says whether one failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="files without .py")
    parser.add_argument("--smoke", action="store_true", help="as small as runs")
    parser.add_argument("--pictures", type=Path, help="folder for the thumbnails")
    options = parser.parse_args()
    failed = []
    for name in options.names or sorted(path.stem for path in EXAMPLES.rglob("plot_*.py")):
        print(f"\n{name}", flush=True)
        failed += [name] * (run(name, options.smoke, options.pictures) != 0)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
