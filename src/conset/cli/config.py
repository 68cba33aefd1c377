"""`conset config`: how to compile and link a C, C++ or Fortran program with conset."""

from __future__ import annotations

from typing import Annotated

import typer

from conset.cli.options import JsonOption

SCHEMA = "conset/config@1"

CFlagsOption = Annotated[bool, typer.Option("--cflags", help="Options to compile with.")]
LibsOption = Annotated[
    bool, typer.Option("--libs", help="Options to link with, the library's place among them.")
]
PrefixOption = Annotated[bool, typer.Option("--prefix", help="The folder with include and lib.")]
CMakeOption = Annotated[
    bool, typer.Option("--cmake", help="The folder of the CMake package, for conset_DIR.")
]
PkgConfigOption = Annotated[
    bool, typer.Option("--pkg-config", help="The folder of conset.pc, for PKG_CONFIG_PATH.")
]
VersionOption = Annotated[bool, typer.Option("--version", help="The version of the library.")]


def command(
    cflags: CFlagsOption = False,
    libs: LibsOption = False,
    prefix: PrefixOption = False,
    cmake: CMakeOption = False,
    pkg_config: PkgConfigOption = False,
    version: VersionOption = False,
    json: JsonOption = False,
) -> None:
    """Print how to compile and link a C, C++ or Fortran program with conset."""
    from conset.base.c_library import find_c_library
    from conset.cli.output import print_json, print_plain
    from conset.schedule.manifest import Manifest

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
        print_json(SCHEMA, values, Manifest(command="conset config"))
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
