"""The README's code does what its comments and the text say."""

import math
import pathlib
import re

import numpy as np

import numbastats as ns


def test_code():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.S)
    names = {}
    exec(code, names)
    np.testing.assert_allclose(names["z"], [-1.9599639845400545, 0.0, 1.9599639845400545], rtol=1e-15)
    assert names["x"].size == 10_000_000 and abs(names["x"].mean() - 100) < 0.03  # standard deviation 0.005
    assert abs(names["t"]).max() > 4 and names["table"].certificate.max_rel_err < 1e-12
    assert abs(names["table"].ppf(0.5)) < 1e-12
    alpha, beta, loc, scale = names["found"].params
    se = names["found"].se
    assert all(abs(p - q) < 4 * e for p, q, e in zip((alpha, beta, loc, scale), (1.7, -0.2, 0.05, 0.6), se, strict=True))
    steps = [axis[1] - axis[0] for axis in ns.kde.regular_axes(names["points"], shape=(540, 560))]
    assert math.isclose(names["density"].sum() * math.prod(steps), 1.0, abs_tol=4e-7)
    fits = names["fits"]
    assert fits.means.shape == (100, 2) and (fits.status == 0).all()
    np.testing.assert_allclose((fits.weights * fits.means).sum(axis=1), [v.mean() for v in names["data"]], rtol=1e-14)
    coef = names["model"].coef_[0]
    np.testing.assert_allclose(coef, [1.0, -1.0, *[0.0] * 48], atol=0.15)  # standard errors 0.04; observed 0.043
    np.testing.assert_allclose(names["model"].summary()["mean"][1:51], coef, rtol=1e-12)  # the first is the intercept's
