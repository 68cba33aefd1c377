"""`conset config`: how to compile and link a C, C++ or Fortran program with conset.

The C interface is installed with this package: `conset.h`, `libconset.so` and what build tools ask
for.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import conset
from conset.base import VERSION, UsageError
from conset.cli.options import JsonOption, opt
from conset.cli.output import print_json, print_plain
from conset.schedule import Manifest


def command(
    cflags: Annotated[bool, opt("--cflags", "Options to compile with.")] = False,
    libs: Annotated[
        bool, opt("--libs", "Options to link with, the library's place among them.")
    ] = False,
    prefix: Annotated[bool, opt("--prefix", "The folder with include and lib.")] = False,
    cmake: Annotated[
        bool, opt("--cmake", "The folder of the CMake package, for conset_DIR.")
    ] = False,
    pkg_config: Annotated[
        bool, opt("--pkg-config", "The folder of conset.pc, for PKG_CONFIG_PATH.")
    ] = False,
    version: Annotated[bool, opt("--version", "The version of the library.")] = False,
    json: JsonOption = False,
) -> None:
    """Print how to compile and link a C, C++ or Fortran program with conset."""
    library = find_c_library()
    values = {
        "cflags": library.cflags,
        "libs": library.libs,
        "prefix": str(library.prefix),
        "cmake": str(library.cmake),
        "pkg_config": str(library.pkg_config),
        "version": library.version,
    }
    if json:
        print_json("conset/config@1", values, Manifest(command="conset config"))
        return
    chosen = {
        "cflags": cflags,
        "libs": libs,
        "prefix": prefix,
        "cmake": cmake,
        "pkg_config": pkg_config,
    }
    names = [name for name, wanted in {**chosen, "version": version}.items() if wanted]
    if names:
        print_plain(" ".join(values[name] for name in names))  # one line, as pkg-config has it
    else:
        print_plain(
            "\n".join(f"{name.replace('_', '-'):<12}{value}" for name, value in values.items())
        )


LIBRARY = "libconset.so"
PRELOADED = "libconset-preload.so"
"""Beside it: what is loaded into programs by `conset record` and `conset intercept`."""


@dataclass(frozen=True)
class CLibrary:
    """Its place.

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

    @property
    def preloaded(self) -> Path:
        """The library for programs that are not modified.

        Raises:
            UsageError: it is not installed.
        """
        path = self.prefix / "lib" / PRELOADED
        if not path.is_file():
            raise UsageError(f"{path}: is not installed: install conset again")
        return path


def search_folders() -> list[Path]:
    """This package's folder, then those of its name on the path.

    Sources of an editable install lie elsewhere.
    """
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
