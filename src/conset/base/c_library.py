"""The C interface as it is installed with this package.

`conset.h` and `libconset.so`, and how to compile with them.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from conset.base.errors import UsageError
from conset.base.version import VERSION

LIBRARY = "libconset.so"


@dataclass(frozen=True)
class CLibrary:
    """Where it stands.

    Attributes:
        prefix: the folder with `include` and `lib`.
    """

    prefix: Path

    @property
    def version(self) -> str:
        """That of the package."""
        return VERSION

    @property
    def cflags(self) -> str:
        """Options that compile a source, quoted for a shell.

        It includes `mpi.h`, then `conset.h`.
        """
        return shlex.join([f"-I{self.prefix / 'include'}"])

    @property
    def libs(self) -> str:
        """Options that link a program, quoted for a shell.

        It then finds the library at this place.
        """
        lib = self.prefix / "lib"
        return shlex.join([f"-L{lib}", f"-Wl,-rpath,{lib}", "-lconset"])

    @property
    def cmake(self) -> Path:
        """The folder of the CMake package: `-Dconset_DIR=`."""
        return self.prefix / "lib" / "cmake" / "conset"

    @property
    def pkg_config(self) -> Path:
        """The folder of `conset.pc`: `PKG_CONFIG_PATH=`."""
        return self.prefix / "lib" / "pkgconfig"


def search_folders() -> list[Path]:
    """This package's folder, then those of its name on the path.

    Sources of an editable install lie elsewhere.
    """
    import conset

    return [Path(folder) for folder in conset.__path__] + [
        Path(entry) / "conset" for entry in sys.path if entry
    ]


def find_c_library() -> CLibrary:
    """The one that was installed with this package.

    Raises:
        UsageError: none is installed.
    """
    for folder in search_folders():
        prefix = folder.resolve()
        if (prefix / "include" / "conset.h").is_file() and (prefix / "lib" / LIBRARY).is_file():
            return CLibrary(prefix)
    raise UsageError(
        f"conset.h and {LIBRARY} are not installed with this package: install conset again"
    )
