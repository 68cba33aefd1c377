"""What is done with a right: `python -m conset_testbed ACTION …`, started by `conset_testbed.beds`.

And `mpiexec`.

Actions answer with one JSON object on their last line: what was asked for, or an error.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from conset.base import ConsetError
from conset_testbed.access import error_object, prepare, probe


def _up(text: str, pipe: str) -> dict[str, Any]:
    from conset_testbed.guardian import sweep
    from conset_testbed.lifecycle import build
    from conset_testbed.settings import Settings

    prepare()
    sweep()
    bed = build(Settings.of(json.loads(text)), None if pipe == "-" else int(pipe))
    return {"name": bed.name}


def _down(name: str) -> dict[str, Any]:
    from conset.base import UnavailableError
    from conset_testbed.lifecycle import remove

    done = remove(name)
    if done.left:
        raise UnavailableError(
            f"testbed '{name}': namespaces could not be removed: {', '.join(done.left[:4])}"
        )
    return {"removed": done.removed, "foreign": done.foreign}


def _stats(name: str) -> dict[str, Any]:
    from conset_testbed.counters import count
    from conset_testbed.state import read_bed

    return count(read_bed(name)).to_object()


def _guard(name: str, ttl_s: str, pipe: str) -> dict[str, Any]:
    from conset_testbed.guardian import guard

    guard(name, float(ttl_s), None if pipe == "-" else int(pipe))
    return {}


ACTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "probe": probe,
    "up": _up,
    "down": _down,
    "stats": _stats,
    "guard": _guard,
}


def main(arguments: Sequence[str]) -> int:
    """Does one action, or is an `mpiexec`; the exit code."""
    action, *words = arguments or ["?"]
    if action == "mpiexec":
        from conset_testbed.mpiexec import main as mpiexec

        return mpiexec(words)
    if action not in ACTIONS:
        sys.stderr.write(f"conset: unknown action '{action}': this is for `conset testbed`\n")
        return 2
    try:
        found = ACTIONS[action](*words)
    except ConsetError as error:
        found = error_object(error)
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    return int("error" in found)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)  # nothing is left to do, and a guardian may have removed what Python stands on
