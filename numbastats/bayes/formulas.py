"""Regressions by a formula, where the package formulaic is installed, which makes the columns and their names."""

from __future__ import annotations

import warnings
from typing import Any

from numbastats._core.errors import names_ours

__all__ = ["fit_formula"]

_OFFSET = "offset("


def _formulaic():
    try:
        import formulaic
    except ImportError:
        raise ImportError("fit_formula needs the package formulaic: pip install formulaic") from None
    return formulaic


def _check_frame(data):
    """Raise for what is no pandas frame."""
    if not (hasattr(data, "iloc") and hasattr(data, "columns")):
        cure = "data.to_pandas()" if hasattr(data, "to_pandas") else "a pandas.DataFrame of the columns"
        raise TypeError(f"data is a {type(data).__name__}; a formula takes a pandas frame: pass {cure}")


def _matrix(make, data, variables):
    """The columns of a formula, of offsets in front of the others; raises where a factor is missing or new."""
    mismatch = _formulaic().errors.DataMismatchWarning
    for name in variables:
        column = data[name]
        if column.dtype.kind not in "fiubmMc" and column.isna().any():
            i = int(column.isna().to_numpy().argmax())
            raise ValueError(f"column {name!r} is missing at row {i}, which belongs to none of its levels; drop such rows")
    with warnings.catch_warnings():
        warnings.simplefilter("error", mismatch)
        try:
            found = make(data)
        except mismatch as warning:
            raise ValueError(f"{warning}: predict for levels that the fit has seen".replace("  ", " ")) from None
    shifts = [name for name in found.columns if name.startswith(_OFFSET)]
    return found[shifts], found.drop(columns=[*shifts, *(name for name in found.columns if name == "Intercept")])


class Formula:
    """The right side of a formula as a fit has it, an attribute of the estimator: a function of new rows.

    Parameters
    ----------
    spec : formulaic.ModelSpec
    """

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def __call__(self, data: Any) -> dict[str, Any]:
        """What predictions take of the rows of a frame.

        Parameters
        ----------
        data : pandas.DataFrame
            With the columns of the formula's right side.

        Returns
        -------
        dict
            "X", a frame, and "offset", where the formula has one: ``model.predict(**model.formula_(data))``.

        Raises
        ------
        TypeError
            For what is no pandas frame.
        ValueError
            For a level of a factor that the fit has not seen, and for one that is missing.
        """
        _check_frame(data)
        make = lambda data: self.spec.get_model_matrix(data, context={"offset": _same})  # noqa: E731
        shifts, X = _matrix(make, data, [str(name) for name in self.spec.required_variables if name in data.columns])
        return {"X": X} if shifts.shape[1] == 0 else {"X": X, "offset": shifts.sum(axis=1)}


def _same(v):
    """What `offset` does in a formula: the column's name tells."""
    return v


@names_ours
def fit_formula(formula: str, data: Any, estimator: Any = None, **rows: Any) -> Any:
    """Fit a regression of this sub-package by a formula; needs the packages formulaic and pandas.

    Parameters
    ----------
    formula : str
        As ``"y ~ x1 + C(region) + x1:x2 + offset(log(n))"``, in the grammar of formulaic. The left side is a column, or a
        function of columns; nothing with `censored`. A factor has a column for each of its levels, with none left out, since
        shrunk coefficients have no need of a reference. ``- 1`` is refused: that is ``fit_intercept=False`` of the estimator.
    data : pandas.DataFrame
        A row for each outcome.
    estimator : estimator of numbastats.bayes, optional
        By default ``HorseshoeRegression()``.
    **rows
        sample_weight, exposure, event, censored and strata, as in `fit`, or names of columns that have them.

    Returns
    -------
    object
        The estimator, fitted to the columns, whose names are its `feature_names_in_`. ``model.formula_(data)`` makes what
        predictions of new rows take, the offset included: ``model.predict(**model.formula_(new))``. A file of `save` has no
        formula.

    Raises
    ------
    ImportError
        Without formulaic.
    TypeError
        For what is no pandas frame.
    ValueError
        For a formula without an intercept, an outcome or offset that is passed beside it as well, missing levels of a factor,
        and as `fit`.

    Examples
    --------
    >>> import numpy as np, pandas as pd, numbastats as ns  # doctest: +SKIP
    >>> rng = np.random.default_rng(1)  # doctest: +SKIP
    >>> data = pd.DataFrame(
    ...     {"dose": rng.uniform(size=90), "ward": list("abc") * 30}
    ... )  # doctest: +SKIP
    >>> data["stay"] = 2.0 + 3.0 * data["dose"] + rng.normal(size=90)  # doctest: +SKIP
    >>> model = ns.bayes.fit_formula("stay ~ dose + ward", data)  # doctest: +SKIP
    >>> model.predict(**model.formula_(data[:2])).shape  # doctest: +SKIP
    (2,)
    """
    from numbastats.bayes.estimator import HorseshoeRegression

    made = _formulaic().Formula(formula)
    _check_frame(data)
    left, right = (made.lhs, made.rhs) if hasattr(made, "lhs") else (None, made)
    model: Any = HorseshoeRegression() if estimator is None else estimator
    if "1" not in map(str, right):
        raise ValueError(f"{formula!r} has no intercept; keep it, and give the estimator fit_intercept=False for none")
    options = dict(context={"offset": _same}, ensure_full_rank=False, na_action="ignore")
    kept: list[Any] = []

    def make(data):
        kept.append(right.get_model_matrix(data, **options))
        return kept[0]

    names = [str(name) for name in right.required_variables if name in data.columns]
    shifts, X = _matrix(make, data, names)
    given = {name: _column(v, data) for name, v in rows.items()}
    found = {} if shifts.shape[1] == 0 else {"offset": shifts.sum(axis=1)}
    found |= {} if left is None else {"y": _outcome(left, data)}
    for name in found:
        if name in given:
            raise ValueError(f"{formula!r} has {name}, and so has {name}=; pass it once")
    given |= found
    model.fit(X, **given)
    model.formula_ = Formula(kept[0].model_spec)
    return model


def _column(v, data):
    """A column by its name, several in a tuple, or values as they are."""
    if isinstance(v, tuple):
        return tuple(_column(one, data) for one in v)
    return data[v] if isinstance(v, str) else v


def _outcome(left, data):
    """The left side: a column as it is, also of labels, or a function of columns."""
    terms = [str(term) for term in left]
    if len(terms) != 1:
        raise ValueError(f"the left side has {len(terms)} terms; pass one outcome")
    if terms[0] in data.columns:
        return data[terms[0]]
    found = left.get_model_matrix(data, na_action="ignore")
    if found.shape[1] != 1:
        raise ValueError(f"{terms[0]} has {found.shape[1]} columns; pass one outcome")
    return found.iloc[:, 0]
