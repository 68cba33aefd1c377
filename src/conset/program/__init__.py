"""Programs: blocks of patterns, one after the other; phases share open connections where they can."""

from conset.program.compile import compile_program, predict_program
from conset.program.program import Block, Program
from conset.program.spec import read_program

__all__ = ["Block", "Program", "compile_program", "predict_program", "read_program"]
