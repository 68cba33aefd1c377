"""Earlier names of `conset.schedule.files.compiled`; the commands still use them."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

from conset.schedule.document import Document
from conset.schedule.files import compiled, documents
from conset.schedule.files.compiled import require_writable, to_schedule
from conset.schedule.files.compiled import write_compiled as write_schedule
from conset.schedule.schedule import Schedule

__all__ = ["read_document", "read_schedule", "require_writable", "to_schedule", "write_schedule"]

read_schedule = cast("Callable[[str | Path], Schedule]", compiled.read_compiled)
read_document = cast("Callable[[str | Path], Document]", documents.read_document)
