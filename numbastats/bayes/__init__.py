"""Bayesian regression with shrinkage priors: Gibbs sampling and faster samplers of the same posterior."""

from numbastats.bayes.diagnostics import ess_bulk, ess_tail, mcse, rhat
from numbastats.bayes.estimator import BayesProbit, HorseshoeClassifier, HorseshoeProbit, HorseshoeRegression
from numbastats.bayes.formulas import fit_formula
from numbastats.bayes.functions import inv_mills, log_exe1, log_ndtr, truncnorm_rvs

__all__ = [
    "BayesProbit",
    "HorseshoeClassifier",
    "HorseshoeProbit",
    "HorseshoeRegression",
    "ess_bulk",
    "ess_tail",
    "fit_formula",
    "inv_mills",
    "log_exe1",
    "log_ndtr",
    "mcse",
    "rhat",
    "truncnorm_rvs",
]


def __dir__():
    return sorted(__all__)
