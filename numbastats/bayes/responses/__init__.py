"""The responses of a regression, a record in a file each."""

# The code is written by tools/discover.py.

from typing import Literal

from numbastats.bayes.responses.gaussian import GAUSSIAN
from numbastats.bayes.responses.logit import LOGIT
from numbastats.bayes.responses.poisson import POISSON
from numbastats.bayes.responses.probit import PROBIT
from numbastats.bayes.responses.record import Record

__all__ = ["Classification", "GAUSSIAN", "LOGIT", "POISSON", "PROBIT", "RESPONSES", "Regression"]

Classification = Literal["logit", "probit"]
Regression = Literal["gaussian", "poisson"]
RESPONSES: dict[str, Record] = dict(gaussian=GAUSSIAN, logit=LOGIT, poisson=POISSON, probit=PROBIT)
