"""Training in parallel.

What ranks send that share the experts, layers, matrices or data of one model.

Ranks stand in the usual order of such programs: tensor groups are neighbours, then come the copies
that share the data, and stages of a pipeline are farthest apart (D. Narayanan et al., "Efficient
Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021). Sizes are
computed: bytes of one step of one kind.

Mixture of experts (`generate_moe`)
Problem: every token of every rank goes to `top` distinct experts; experts live on ranks. Popular
experts make columns of very unequal sums, and others at every step.
Idea: expert number i of a random order has weight (i + 1)^-skew; a token draws experts by weight
without replacement. From one step to the next the order changes by one exchange of two experts, so
that steps near each other are alike; tokens are drawn anew.
How: successive draws by inverse distribution, all tokens at once; what a token has already is drawn
again; the few that still collide after a bounded number of rounds take the first arrival in a race
of exponential clocks of the experts that they have not, which has the same distribution.
Invariant: a token holds distinct experts after every draw.
Complexity: O(ranks * tokens * top * log experts) expected; memory of one rank's tokens.
Source: D. Lepikhin et al., "GShard", ICLR 2021: experts on all ranks, a capacity per expert and
group of tokens; what is above it is dropped. W. Fedus et al., "Switch Transformers", JMLR 23
(2022): the capacity factor.
"""

from __future__ import annotations

import numpy as np

from conset.base import Floats, Ints, require_memory
from conset.pattern.generators.partners import (
    Partners,
    Setting,
    partners_of_volumes,
    require,
    require_bytes,
    require_messages,
)

_ROUNDS = 16
"""Draws of a token that hit what it has, before the race decides."""
MAX_STEP = 100_000
"""Exchanges of experts are made one after the other."""


def generate_moe(
    setting: Setting,
    *,
    tokens: int,
    experts: int,
    top: int,
    hidden: int,
    skew: float,
    capacity: float,
    step: int,
    way: str,
) -> Partners:
    """Tokens to their experts, or back.

    Expert `e` of E lives on rank `e * ranks // E`; a token counts `hidden` bytes for each of its
    experts, several on one rank too. The capacity is of an expert and the tokens of one rank; what
    is above it is dropped.

    Raises:
        InputError: more experts of a token than there are, or a step that is too late.
    """
    ranks = setting.ranks
    experts = experts or ranks
    require(top <= experts, "moe", f"top of at most {experts} experts", f"{top}")
    require(step <= MAX_STEP, "moe", f"a step of at most {MAX_STEP}", f"{step}")
    require_messages(ranks * min(ranks - 1, experts, tokens * top), "moe")
    require_bytes(float(ranks) * tokens * top * hidden, "moe")
    require_memory(24.0 * tokens * top + 24.0 * experts, "moe")
    base = int(setting.random.integers(2**62))
    weight = _popularity(experts, skew, step, np.random.default_rng([base, 0]))
    random = np.random.default_rng([base, 1, step])
    limit = int(min(np.ceil(capacity * tokens * top / experts), tokens)) if capacity else tokens
    home = np.arange(experts) * ranks // experts
    rows = []
    for _ in range(ranks):
        count = np.bincount(_routed(weight, tokens, top, random).ravel(), minlength=experts)
        rows.append(np.bincount(home, np.minimum(count, limit), minlength=ranks))
    sent = np.array(rows).astype(np.int64)
    source, target = np.nonzero(sent)
    size = sent[source, target] * hidden
    if way == "combine":
        source, target = target, source
    return partners_of_volumes(ranks, source, target, size)


def _popularity(experts: int, skew: float, step: int, random: np.random.Generator) -> Floats:
    """shape=(experts): the weight of each expert at a step."""
    order = random.permutation(experts)
    for one, other in random.integers(experts, size=(step, 2)).tolist():
        order[one], order[other] = order[other], order[one]
    weight = np.empty(experts)
    popularity = np.arange(1, experts + 1, dtype=np.float64) ** -skew
    weight[order] = np.maximum(popularity, 1e-290)
    return weight


def _routed(weight: Floats, tokens: int, top: int, random: np.random.Generator) -> Ints:
    """shape=(tokens, top): distinct experts of each token, drawn by weight without replacement."""
    experts = weight.size
    if top == experts:
        return np.broadcast_to(np.arange(experts), (tokens, experts))
    cumulative = np.cumsum(weight)
    chosen = np.full((tokens, top), -1, np.int64)
    for k in range(top):
        drawing = np.arange(tokens)
        for _ in range(_ROUNDS):
            drawn = np.searchsorted(
                cumulative, random.random(drawing.size) * cumulative[-1], side="right"
            )
            drawn = np.minimum(drawn, experts - 1)
            again = (chosen[drawing, :k] == drawn[:, None]).any(axis=1)
            chosen[drawing[~again], k] = drawn[~again]
            drawing = drawing[again]
            if not drawing.size:
                break
        else:
            clock = random.standard_exponential((drawing.size, experts)) / weight
            np.put_along_axis(clock, chosen[drawing, :k], np.inf, axis=1)
            chosen[drawing, k] = clock.argmin(axis=1)
    return chosen


def generate_pipeline(
    setting: Setting, *, stages: int, tokens: int, hidden: int, chunks: int, way: str
) -> Partners:
    """Activations of one microbatch from stage to stage, gradients back.

    Rank `r` is in stage `r // (ranks / stages)` and sends to the same place of the next one. With
    several `chunks` of layers a stage, a microbatch passes all stages that often, and the last
    stage sends to the first between two passes.

    Raises:
        InputError: stages that do not divide the ranks.
    """
    ranks = setting.ranks
    stages = stages or ranks
    require(ranks % stages == 0, "pipeline", f"stages that divide {ranks} ranks", f"{stages}")
    width = ranks // stages
    first = np.arange(ranks)
    after = (first + width) % ranks
    require_bytes(2.0 * ranks * chunks * tokens * hidden, "pipeline")
    times = np.where(first + width >= ranks, chunks - 1, chunks)
    size = times * tokens * hidden
    pairs = {"forward": [(first, after)], "backward": [(after, first)]}
    both = pairs.get(way) or [*pairs["forward"], *pairs["backward"]]
    source, target = (np.concatenate(ends) for ends in zip(*both, strict=True))
    if stages == 1:
        return partners_of_volumes(ranks, source[:0], target[:0], size[:0])
    return partners_of_volumes(ranks, source, target, np.tile(size, len(both)))


def generate_tensor(
    setting: Setting, *, group: int, tokens: int, hidden: int, way: str
) -> Partners:
    """Activations of `tokens` · `hidden` bytes, summed over each group of `group` ranks.

    The ranks of a group are neighbours.

    A reduce-scatter and an all-gather, around a ring or directly from each to each.

    Raises:
        InputError: a group that does not divide the ranks.
    """
    ranks = setting.ranks
    require(ranks % group == 0, "tensor", f"a group that divides {ranks} ranks", f"{group}")
    return _summed(ranks, np.arange(ranks).reshape(-1, group), tokens * hidden, way)


def generate_data_parallel(
    setting: Setting, *, tensor: int, stages: int, gradients: int, way: str
) -> Partners:
    """Gradients summed over the ranks that hold the same part of a model.

    These are rank `r`, `r + tensor`, `r + 2 tensor` … of the same stage.

    Raises:
        InputError: a group and stages that do not divide the ranks.
    """
    ranks = setting.ranks
    given = f"{tensor} · {stages} = {tensor * stages}"
    require(
        ranks % (tensor * stages) == 0,
        "data-parallel",
        f"tensor · stages that divide {ranks} ranks",
        given,
    )
    members = (
        np.arange(ranks).reshape(stages, -1, tensor).swapaxes(1, 2).reshape(stages * tensor, -1)
    )
    return _summed(ranks, members, gradients, way)


def _summed(ranks: int, members: Ints, total: int, way: str) -> Partners:
    """A sum over every row of `members`, each with `total` bytes.

    Blocks are as equal as whole bytes allow.

    Around a ring a rank sends all blocks but one to the next in the reduce-scatter, and all but one
    in the all-gather; directly it sends each other rank that one's block, and its own block when it
    is summed.
    """
    require_bytes(2.0 * ranks * total, "sums")
    group = members.shape[1]
    block = np.array(
        [(k + 1) * total // group - k * total // group for k in range(group)], np.int64
    )
    place = np.arange(group)
    if way == "ring":
        sender, receiver = place, (place + 1) % group
        # reduce-scatter: it starts with its own block and never has its predecessor's sum to pass
        # on, …
        size = 2 * total - block[(place + 1) % group] - block[(place + 2) % group]
    else:
        require_messages(ranks * (group - 1), "a sum from each to each")
        sender, receiver = (ends.ravel() for ends in np.nonzero(~np.eye(group, dtype=bool)))
        size = block[receiver] + block[sender]
    if group == 1:
        sender, receiver, size = sender[:0], receiver[:0], size[:0]
    rows = members.shape[0]
    return partners_of_volumes(
        ranks, members[:, sender].ravel(), members[:, receiver].ravel(), np.tile(size, rows)
    )
