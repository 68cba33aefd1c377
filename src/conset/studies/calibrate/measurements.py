"""Measurements: times of probes, repetition by repetition.

A file of them stands for the machine in later fits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.base.errors import InputError
from conset.base.files import replacing, require_file
from conset.base.json_text import parse_json

SCHEMA = "conset/calibration-data@1"


@dataclass(frozen=True)
class Measurements:
    """What a prober has found.

    Attributes:
        network: the structure that was stated, as a machine's record.
        ranks: of the job.
        by: what measured: the library, or an emulated machine, in words.
        times_s: by the name of a probe, a time per repetition [s].
        quick: whether the probes were the quick ones.
        large: the longest message [B], which with the structure says what the probes were.
        alone_s: of the first look: a small message alone [s].
        rate_Bps: of the first look [B/s].
        retransmissions: by the name of a probe, segments that TCP sent again, over all repetitions;
            nothing: not known.
        cores: cores of the machine of rank 0 that its ranks may use.
        local_ranks: ranks on the machine of rank 0.
        elapsed_s: how long it took [s].
    """

    network: Any
    ranks: int
    by: str
    times_s: Mapping[str, tuple[float, ...]]
    quick: bool
    large: int
    alone_s: float
    rate_Bps: float  # noqa: N815
    retransmissions: Mapping[str, int]
    cores: int = 0
    local_ranks: int = 0
    elapsed_s: float = 0.0

    @property
    def oversubscribed(self) -> bool:
        """Whether ranks share cores."""
        return self.local_ranks > self.cores > 0

    def typical_s(self, name: str) -> float:
        """The time of a probe undisturbed.

        The median of the shortest interval that holds half of its times [s].

        What disturbs a time makes it longer. So this stands where most times are, which a median
        leaves when a third of them are disturbed (Rousseeuw's shorth; of few times it is their
        median).
        """
        times: NDArray[np.float64] = np.sort(np.asarray(self.times_s[name]))
        half = times.size // 2 + 1
        if times.size < 5:
            return float(np.median(times))
        first = int(np.argmin(times[half - 1 :] - times[: times.size - half + 1]))
        return float(np.median(times[first : first + half]))

    def median_s(self, name: str) -> float:
        """The median time of a probe [s]: what a run takes, with what disturbs it."""
        return float(np.median(self.times_s[name]))

    def log_error(self, name: str) -> float:
        """Standard error of the logarithm of `typical_s`, from the spread of the middle half."""
        times: NDArray[np.float64] = np.log(np.asarray(self.times_s[name]))
        low, high = np.percentile(times, [25, 75])
        return float(1.5 * (high - low) / 1.349 / np.sqrt(times.size))

    def spread(self, name: str) -> float:
        """Largest over typical time: what a time-out of the network does to one repetition."""
        return float(np.max(self.times_s[name]) / self.typical_s(name))

    def to_object(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "schema": SCHEMA,
            "network": self.network,
            "ranks": self.ranks,
            "by": self.by,
            "quick": self.quick,
            "large": self.large,
            "alone_s": self.alone_s,
            "rate_Bps": self.rate_Bps,
            "cores": self.cores,
            "local_ranks": self.local_ranks,
            "elapsed_s": self.elapsed_s,
            "retransmissions": dict(self.retransmissions),
            "times_s": {name: list(times) for name, times in self.times_s.items()},
        }

    def digest_text(self) -> str:
        """What a digest of the measurements is taken of."""
        return json.dumps(self.to_object(), sort_keys=True)

    def write(self, path: str | Path) -> None:
        """Writes a JSON file, beside and then renamed."""
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(self.to_object(), indent=1) + "\n")


def read_measurements(path: str | Path) -> Measurements:
    """What `Measurements.write` wrote.

    Raises:
        InputError: no such file, another kind of file, or one that lacks a key.
    """
    path = require_file(path)
    try:
        body = parse_json(path, constants=True)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if not isinstance(body, dict) or body.get("schema") != SCHEMA:
        found = body.get("schema") if isinstance(body, dict) else type(body).__name__
        raise InputError(f"{path}: schema must be {SCHEMA}, is {found!r}")
    if not isinstance(body.get("times_s"), dict) or not isinstance(
        body.get("retransmissions"), dict
    ):
        raise InputError(
            f"{path}: times_s and retransmissions: tables by the names of probes required"
        )
    try:
        times = {
            str(name): tuple(float(time) for time in row) for name, row in body["times_s"].items()
        }
        if not times or not all(
            row and all(0 < time < 1e6 for time in row) for row in times.values()
        ):
            raise InputError(f"{path}: times_s: every probe needs times above 0 s")
        return Measurements(
            body["network"],
            int(body["ranks"]),
            str(body["by"]),
            times,
            bool(body["quick"]),
            int(body["large"]),
            float(body["alone_s"]),
            float(body["rate_Bps"]),
            {str(name): int(count) for name, count in body["retransmissions"].items()},
            int(body["cores"]),
            int(body["local_ranks"]),
            float(body["elapsed_s"]),
        )
    except KeyError as error:
        raise InputError(f"{path}: key {error} is required") from None
    except (AttributeError, OverflowError, TypeError, ValueError) as error:
        raise InputError(f"{path}: {error}") from None
