"""Placement: names, files, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conset.base.errors import InputError, UsageError
from conset.machine.network.topology import Topology
from conset.methods import place as place_pattern
from conset.pattern.pattern import Pattern

MESH = Topology.mesh(4, 4)


def place(name: str, *, ranks: int, topology: Topology, **options: int) -> np.ndarray | None:
    """Ranks that send nothing: all that names and files look at."""
    silent = Pattern.from_messages([], [], [], ranks)
    return place_pattern(name, pattern=silent, topology=topology, **options)


def test_identity() -> None:
    assert place("identity", ranks=16, topology=MESH) is None
    nodes = place("identity", ranks=6, topology=MESH, ranks_per_node=4)
    assert nodes is not None
    assert nodes.tolist() == [0, 0, 0, 0, 1, 1]
    assert nodes.dtype == np.int32


def test_gray_puts_ranks_of_one_bit_apart_on_neighbours() -> None:
    nodes = place("gray", ranks=16, topology=MESH)
    assert nodes is not None
    # position x holds the code x ^ (x >> 1): 0 1 3 2 on both axes, so rank 2 stands at x = 3
    assert nodes.tolist()[:4] == [0, 1, 3, 2]
    for x in range(16):
        y = (x // 4 ^ x // 4 >> 1) * 4 + (x % 4 ^ x % 4 >> 1)
        assert nodes[y] == x


def test_gray_with_several_ranks_a_node_and_on_a_hypercube() -> None:
    nodes = place("gray", ranks=8, topology=Topology.ring(4), ranks_per_node=2)
    assert nodes is not None
    assert nodes.tolist() == [0, 0, 1, 1, 3, 3, 2, 2]
    cube = place("gray", ranks=8, topology=Topology.hypercube(3))
    assert cube is not None
    assert cube.tolist() == list(range(8))


def test_random_is_seeded_and_crowds_no_node() -> None:
    one, same, other = (
        place("random", ranks=20, topology=MESH, ranks_per_node=2, seed=s) for s in (1, 1, 2)
    )
    assert one is not None
    assert same is not None
    assert other is not None
    assert one.tolist() == same.tolist() != other.tolist()
    assert np.bincount(one, minlength=16).max() <= 2


@pytest.mark.parametrize("text", ["3\n1 # note\n\n2\n", "[3, 1, 2]"])
def test_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "nodes.txt"
    path.write_text(text)
    nodes = place(str(path), ranks=3, topology=MESH)
    assert nodes is not None
    assert nodes.tolist() == [3, 1, 2]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("3\n1\n", "{path}: 2 node ids for 3 ranks"),
        ("3\n16\n1\n", "{path}:2: node 16 of rank 1: must be from 0 to 15"),
        (
            "3\n1\n\n3\n",
            "{path}:4: node 3 of rank 2 holds 2 ranks: at most 1 rank a node (ranks_per_node)",
        ),
        ("3\nx\n1\n", "{path}:2: 'x': one node id per line required"),
        ("[3, 1, -1]", "{path}: [2]: node -1 of rank 2: must be from 0 to 15"),
        ("[3, 1, 1.5]", "{path}: [2] = 1.5: a node id required"),
        (
            "[3, 1",
            "{path}: is no complete JSON list: Expecting ',' delimiter: line 1 column 6 (char 5)",
        ),
        ("", "{path}: is empty"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, line: str) -> None:
    path = tmp_path / "nodes.txt"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        place(str(path), ranks=3, topology=MESH)
    assert str(caught.value) == line.format(path=path)


def test_more_ranks_than_places() -> None:
    with pytest.raises(InputError) as caught:
        place("identity", ranks=33, topology=MESH, ranks_per_node=2)
    assert str(caught.value) == "33 ranks need ranks_per_node 3 on 16 nodes, given 2"


def test_wrong_names_and_domains() -> None:
    for name, topology, kind, line in (
        ("grey", MESH, UsageError, "unknown placement 'grey': did you mean 'gray'?"),
        ("nodes.txt", MESH, InputError, "nodes.txt: no such file"),
        (
            "gray",
            Topology.mesh(4, 6),
            InputError,
            "placement gray: side 1 of the network is 6: must be a power of two",
        ),
        (
            "gray",
            Topology.crossbar(8),
            InputError,
            "placement gray: needs a mesh, torus, ring or hypercube, the network is a crossbar",
        ),
    ):
        with pytest.raises(kind) as caught:
            place(name, ranks=4, topology=topology)
        assert str(caught.value) == line
    with pytest.raises(UsageError, match=r"^ranks_per_node 0: must be at least 1$"):
        place("identity", ranks=4, topology=MESH, ranks_per_node=0)
