"""What the tour calls, for `numbastats.warmup`: kernels with twin and number of the signature, those that take longest first.

python examples/tour_kernels.py     # runs the tour and compares the list with what was used; write it anew after a change
"""

from __future__ import annotations

COMPILING = 100.0  # seconds of one core that the list takes, of a server with two
LONGEST = 11.0  # those of its first kernel: no number of cores is faster

KERNELS = [
    "distributions.fit_generalized_hyperbolic serial 0",
    "stable.table_of_heavy_tails serial 0",
    "distributions.cauchy_fit serial 0",
    "mixture.climb serial 0",
    "stable.search serial 0",
    "distributions.fit_nig serial 0",
    "stable.shared_climb serial 0",
    "mixture.accelerate serial 0",
    "distributions.fit_student_t serial 0",
    "kde.pairs parallel 0",
    "kde.rows_2 serial 0",
    "mixture.insertion serial 0",
    "distributions.chi_squared_fit serial 0",
    "stable.series serial 0",
    "mixture.starts serial 0",
    "distributions.student_t_cdf serial 0",
    "mixture.prepare serial 0",
    "distributions.gh_pdf parallel 0",
    "mixture.choose serial 0",
    "stable.table parallel 0",
    "distributions.fit_asymmetric_laplace serial 0",
    "kde.points_power serial 0",
    "distributions.inverse_gaussian_fit serial 0",
    "distributions.gamma_fit serial 0",
    "stable.shared_totals serial 0",
    "bayes.probit serial 0",
    "mixture.scores serial 0",
    "bayes.rotation serial 0",
    "stable.table_of_logs parallel 0",
    "kde.moments serial 0",
    "bayes.scales_horseshoe serial 0",
    "distributions.laplace_fit serial 0",
    "stable.rvs_S0 parallel 0",
    "mixture.pick serial 0",
    "distributions.exponential_fit serial 0",
    "distributions.finish serial 0",
    "random.normal_float64 parallel 0",
    "bayes.kick serial 0",
    "stable.by_characteristic_function serial 0",
    "distributions.student_t_cdf parallel 0",
    "quantile.table_signed_7 parallel 0",
    "kde.count serial 0",
    "stable.table serial 0",
    "random.normal_float64 serial 0",
    "kde.near_points serial 0",
    "distributions.distribution serial 0",
    "bayes.ndtr parallel 0",
    "quantile.ndtri_fast serial 0",
    "kde.place serial 0",
    "distributions.gh_log_norm_of_one serial 0",
    "bayes.totals serial 0",
    "distributions.normal_cdf serial 0",
    "distributions.normal_pdf serial 0",
    "distributions.log_kve serial 0",
    "bayes.draws serial 0",
    "bayes.ndtri serial 0",
    "kde.whiten serial 0",
    "bayes.inv_mills serial 0",
    "mixture.set_coefficients serial 0",
    "stable.tan_half_pi serial 0",
    "distributions.fit_normal serial 0",
    "stable.zeta serial 0",
    "kde.order serial 0",
    "kde.count_keys serial 0",
    "kde.first_places serial 0",
    "kde.any_power serial 0",
]

if __name__ == "__main__":
    import sys

    import tour
    from numba.core import event

    from numbastats._core.warmup import in_use

    with event.install_recorder("numba:compile") as recorder:
        tour.main()
    used = in_use()
    lines = [*(k for k in KERNELS if k in used), *(k for k in used if k not in KERNELS)]
    print("\n".join(f'    "{label}",' for label in lines))
    made = [e.data["dispatcher"].py_func.__qualname__ for _, e in recorder.buffer]
    wrong = sorted(set(KERNELS) ^ set(used)) + made
    if wrong:
        sys.exit(f"not called, or compiled beside the list: {', '.join(wrong)}")
