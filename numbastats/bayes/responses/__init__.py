"""The responses of a regression, a record in a file each."""

from __future__ import annotations

from typing import Literal, TypeAlias

from numbastats.bayes.responses.gaussian import GAUSSIAN
from numbastats.bayes.responses.logit import LOGIT
from numbastats.bayes.responses.poisson import POISSON
from numbastats.bayes.responses.probit import PROBIT
from numbastats.bayes.responses.record import Record

__all__ = ["GAUSSIAN", "LOGIT", "POISSON", "PROBIT", "RESPONSES", "Classification", "Regression"]

RESPONSES: dict[str, Record] = {record.word: record for record in (GAUSSIAN, LOGIT, POISSON, PROBIT)}
Classification: TypeAlias = Literal["logit", "probit"]
Regression: TypeAlias = Literal["gaussian", "poisson"]
