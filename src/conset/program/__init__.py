"""Programs: ordered stages; building blocks that share open connections, or stages that forward bundles of messages."""

from conset.program.bounds import ProgramBounds, bound_program
from conset.program.chained import chained
from conset.program.compile import compile_program, predict_program
from conset.program.guarantees import program_guarantees
from conset.program.paths import Bundles, Paths, direct
from conset.program.program import Program, Stage
from conset.program.spec import read_program

__all__ = [
    "Bundles", "Paths", "Program", "ProgramBounds", "Stage", "bound_program", "chained", "compile_program", "direct",
    "predict_program", "program_guarantees", "read_program",
]  # fmt: skip
