"""Arrays that somebody got wrong."""

from __future__ import annotations

import numpy as np

NUMBERS = [-(2**31), -5, -1, 0, 1, 3, 15, 16, 17, 1000, 50_000_000, 2_000_000_000, 2**31 - 1]
WIDE = [-(2**63), -(2**40), 2**31, 2**62, 2**63 - 1]
TIMES = [-1.0, 0.0, 1e-300, 1e-9, 1.0, 1e6, 1e10, 1e300, float("inf"), float("nan")]


def spoiled(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same array in another shape, or with other numbers in one place or everywhere."""
    changed = np.array(values)
    floats = changed.dtype.kind == "f"
    numbers = TIMES if floats else NUMBERS + (WIDE if changed.dtype == np.int64 else [])
    kind = rng.integers(7)
    if kind == 0:
        return changed[: rng.integers(0, changed.size + 1)]
    if kind == 1:
        return np.concatenate([changed.ravel(), changed.ravel()[:3]])
    if kind == 2:
        return np.full(changed.shape, rng.choice(numbers), changed.dtype)
    if kind == 3:
        return changed.reshape(-1, 1) if changed.ndim == 1 else changed.ravel()
    if kind == 4:
        return rng.permutation(changed)
    flat = changed.reshape(-1)
    for _ in range(rng.integers(1, 4)):
        if flat.size:
            flat[rng.integers(flat.size)] = rng.choice(numbers)
    return changed
