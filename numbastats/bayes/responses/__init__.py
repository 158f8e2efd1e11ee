"""The responses of a regression, a record in a file each."""

# The code is written by tools/discover.py.

from typing import Literal

from numbastats.bayes.responses.beta import BETA
from numbastats.bayes.responses.cox import COX
from numbastats.bayes.responses.exponential import EXPONENTIAL
from numbastats.bayes.responses.gamma import GAMMA
from numbastats.bayes.responses.gaussian import GAUSSIAN
from numbastats.bayes.responses.logit import LOGIT
from numbastats.bayes.responses.loglogistic import LOGLOGISTIC
from numbastats.bayes.responses.lognormal import LOGNORMAL
from numbastats.bayes.responses.negative_binomial import NEGATIVE_BINOMIAL
from numbastats.bayes.responses.ordinal import ORDINAL
from numbastats.bayes.responses.poisson import POISSON
from numbastats.bayes.responses.probit import PROBIT
from numbastats.bayes.responses.record import Record
from numbastats.bayes.responses.student_t import STUDENT_T
from numbastats.bayes.responses.weibull import WEIBULL
from numbastats.bayes.responses.zero_truncated_negative_binomial import ZERO_TRUNCATED_NEGATIVE_BINOMIAL
from numbastats.bayes.responses.zero_truncated_poisson import ZERO_TRUNCATED_POISSON

__all__ = [
    "BETA",
    "COX",
    "Classification",
    "EXPONENTIAL",
    "GAMMA",
    "GAUSSIAN",
    "LOGIT",
    "LOGLOGISTIC",
    "LOGNORMAL",
    "NEGATIVE_BINOMIAL",
    "ORDINAL",
    "POISSON",
    "PROBIT",
    "RESPONSES",
    "Regression",
    "STUDENT_T",
    "WEIBULL",
    "ZERO_TRUNCATED_NEGATIVE_BINOMIAL",
    "ZERO_TRUNCATED_POISSON",
]

Classification = Literal["logit", "ordinal", "probit"]
Regression = Literal[
    "beta",
    "cox",
    "exponential",
    "gamma",
    "gaussian",
    "loglogistic",
    "lognormal",
    "negative_binomial",
    "poisson",
    "student_t",
    "weibull",
    "zero_truncated_negative_binomial",
    "zero_truncated_poisson",
]
RESPONSES: dict[str, Record] = dict(
    beta=BETA,
    cox=COX,
    exponential=EXPONENTIAL,
    gamma=GAMMA,
    gaussian=GAUSSIAN,
    logit=LOGIT,
    loglogistic=LOGLOGISTIC,
    lognormal=LOGNORMAL,
    negative_binomial=NEGATIVE_BINOMIAL,
    ordinal=ORDINAL,
    poisson=POISSON,
    probit=PROBIT,
    student_t=STUDENT_T,
    weibull=WEIBULL,
    zero_truncated_negative_binomial=ZERO_TRUNCATED_NEGATIVE_BINOMIAL,
    zero_truncated_poisson=ZERO_TRUNCATED_POISSON,
)
