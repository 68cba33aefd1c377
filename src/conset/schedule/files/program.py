"""Earlier names of `conset.schedule.files.compiled`; the commands still use them."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

from conset.schedule.document import ProgramDocument
from conset.schedule.files import compiled, documents
from conset.schedule.files.compiled import document_of as document_of_program
from conset.schedule.files.compiled import read_compiled as read_schedule_or_program
from conset.schedule.files.compiled import to_program
from conset.schedule.files.compiled import write_compiled as write_program_document
from conset.schedule.program import Program

__all__ = [
    "document_of_program",
    "read_program_document",
    "read_program_file",
    "read_schedule_or_program",
    "require_json",
    "to_program",
    "write_program_document",
]

read_program_file = cast("Callable[[str | Path], Program]", compiled.read_compiled)
read_program_document = cast("Callable[[str | Path], ProgramDocument]", documents.read_document)


def require_json(path: str | Path) -> None:
    """Checks the suffix of a program file."""
    documents.require_suffix(Path(path), True)
