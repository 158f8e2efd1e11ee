"""What the tour calls, for `numbastats.warmup`: kernels with twin and number of the signature, those that take longest first.

python examples/tour_kernels.py     # runs the tour and prints the list that it would need; write it here after a change
"""

from __future__ import annotations

KERNELS: list[str] = []

if __name__ == "__main__":
    import tour

    from numbastats._core.warmup import in_use

    tour.main()
    used = in_use()
    print("\n".join(f'    "{label}",' for label in [*(k for k in KERNELS if k in used), *(k for k in used if k not in KERNELS)]))
