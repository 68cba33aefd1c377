"""Meshes in text: Abaqus, Nastran, AVS-UCD, Gmsh in text; each line is checked.

A deck may hold much that is no mesh (materials, loads, steps); that is skipped. What defines nodes
or cells and cannot be represented here is refused with its line: generated nodes and cells,
included files, parts that are instanced twice, unknown types of elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from conset.base import InputError, read_text, shortened, whole_number
from conset.pattern.readers.partition import Cells

_UCD = {
    "pt": (0, 1),
    "line": (1, 2),
    "tri": (2, 3),
    "quad": (2, 4),
    "tet": (3, 4),
    "pyr": (3, 5),
    "prism": (3, 6),
    "hex": (3, 8),
}
"""Type of an AVS-UCD cell → dimension, nodes."""
_GMSH = {
    "1": (1, 2, 2),
    "2": (2, 3, 3),
    "3": (2, 4, 4),
    "4": (3, 4, 4),
    "5": (3, 8, 8),
    "6": (3, 6, 6),
    "7": (3, 5, 5),
    "8": (1, 2, 3),
    "9": (2, 3, 6),
    "10": (2, 4, 9),
    "11": (3, 4, 10),
    "12": (3, 8, 27),
    "13": (3, 6, 18),
    "14": (3, 5, 14),
    "15": (0, 1, 1),
    "16": (2, 4, 8),
    "17": (3, 8, 20),
    "18": (3, 6, 15),
    "19": (3, 5, 13),
    "20": (2, 3, 9),
    "21": (2, 3, 10),
    "22": (2, 3, 12),
    "23": (2, 3, 15),
    "24": (2, 3, 15),
    "25": (2, 3, 21),
    "26": (1, 2, 4),
    "27": (1, 2, 5),
    "28": (1, 2, 6),
    "29": (3, 4, 20),
    "30": (3, 4, 35),
    "31": (3, 4, 56),
    "36": (2, 4, 16),
    "37": (2, 4, 25),
    "92": (3, 8, 64),
    "93": (3, 8, 125),
}
"""Type of a Gmsh element → dimension, corners, nodes."""
CORNERS = {
    1: {2: 2, 3: 2},
    2: {3: 3, 4: 4, 6: 3, 7: 3, 8: 4, 9: 4},
    3: {4: 4, 5: 5, 6: 6, 8: 8, 10: 4, 13: 5, 15: 6, 18: 6, 20: 8, 27: 8},
}
"""Dimension → nodes of a cell → its corners, which come first."""
_ABAQUS = {
    3: re.compile(r"(?:(?:[A-Z]*C|COH|CIN|Q)3D|SC)(\d+)"),
    2: re.compile(r"(?:[A-Z]*C(?:PS|PEG?|G?AX|2D)|COH(?:2D|AX)|WARP2D|D?S|[MR]3D|SFM3D|STRI)(\d+)"),
    1: re.compile(r"(?:T[23]D|R2D|RB[23]D|[A-Z]*C1D)(\d+)"),
}
"""Dimension → elements of Abaqus whose name ends in their number of nodes."""
_ABAQUS_LINES = re.compile(r"(?:B|PIPE|ELBOW)[23]([123])|[SM]G?AX([12])")
"""Beams and axisymmetric shells, whose name ends in their order; that of cubic beams is 3."""
_ABAQUS_POINTS = re.compile(r"MASS|ROTARYI|HEATCAP|SPRING|DASHPOT|CONN[23]D|DCOUP|JOINT|GAP")
"""Elements that connect degrees of freedom."""
_ABAQUS_GENERATE = {"INCLUDE", "NGEN", "NFILL", "NCOPY", "NMAP", "ELGEN", "ELCOPY", "IMPORT"}
"""Keywords that define nodes or cells which are not in the lines below them."""
_NASTRAN = {
    **dict.fromkeys(("CROD", "CTUBE", "CBAR", "CBEAM", "CBEND"), (1, 2, 2, 2)),
    "CONROD": (1, 1, 2, 2),
    "CBEAM3": (1, 2, 2, 3),
    **dict.fromkeys(("CTRIA3", "CTRIAR", "CPLSTN3", "CPLSTS3"), (2, 2, 3, 3)),
    **dict.fromkeys(("CQUAD4", "CQUADR", "CSHEAR", "CPLSTN4", "CPLSTS4"), (2, 2, 4, 4)),
    **dict.fromkeys(("CTRIA6", "CPLSTN6", "CPLSTS6"), (2, 2, 3, 6)),
    **dict.fromkeys(("CQUAD8", "CPLSTN8", "CPLSTS8"), (2, 2, 4, 8)),
    "CTETRA": (3, 2, 4, 10),
    "CPYRAM": (3, 2, 5, 13),
    "CPENTA": (3, 2, 6, 15),
    "CHEXA": (3, 2, 8, 20),
}
"""Card → dimension, field of the first node (the identifier is field 0), corners, nodes at most."""
_NASTRAN_POINTS = re.compile(r"C(?:ELAS|DAMP|BUSH|GAP|VISC|WELD|FAST|SEAM|MASS)")
"""Cards of elements that connect degrees of freedom."""
_NASTRAN_OTHERS = re.compile(r"C(?:ORD|ONM|BARAO|SET|SUP|REEP|ONV|HBDY|AERO|LOAD|END$|ONTRL|YAX)")
"""Cards with a C that are no elements."""


class _Deck:
    """The nodes and cells of a deck, in the order of its lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._nodes: dict[tuple[str, int], int] = {}
        self._cells: dict[tuple[str, int], tuple[int, int, int, list[tuple[str, int]]]] = {}
        self.skipped: list[tuple[int, str]] = []

    def error(self, line: int, reason: str) -> InputError:
        """Return the error of a line."""
        return InputError(f"{self.path}, line {line}: {reason}")

    def number(self, line: int, word: str) -> int:
        """Return the number of a node or cell, at least 1."""
        number = whole_number(word.strip())
        if number is None or number < 1:
            given = shortened(word.strip())
            raise self.error(line, f"the number of a node or cell required, given '{given}'")
        return number

    def add_node(self, line: int, word: str, part: str = "") -> None:
        """Add a node; raises InputError where its part has it already."""
        node = part, self.number(line, word)
        if self._nodes.setdefault(node, len(self._nodes)) < len(self._nodes) - 1:
            raise self.error(line, f"node {node[1]} is defined twice")

    def add_cell(
        self, line: int, fields: Sequence[str], dimension: int, corners: int, part: str = ""
    ) -> None:
        """Add a cell, given its number and its nodes; raises InputError where it is there."""
        cell, *nodes = ((part, self.number(line, word)) for word in fields)
        if cell in self._cells:
            raise self.error(line, f"cell {cell[1]} is defined twice")
        self._cells[cell] = line, dimension, corners, nodes

    def cells(self) -> Cells:
        """Return the cells of the highest dimension.

        Raises:
            InputError: no cells of dimension 1 or more, a node that is not defined, or lines that
                were skipped and connect as much as the cells do.
        """
        dimension = max((cell[1] for cell in self._cells.values()), default=0)
        if dimension < 1:
            raise InputError(f"{self.path}: the mesh has no cells (edges, triangles, tetrahedra …)")
        if dimension == 1 and self.skipped:
            line, kind = self.skipped[0]
            raise self.error(line, f"{kind} is not read beside cells of one dimension")
        for line, _, _, nodes in self._cells.values():
            if missing := [number for part, number in nodes if (part, number) not in self._nodes]:
                raise self.error(line, f"node {missing[0]} is not defined")
        chosen = [cell for cell in self._cells.values() if cell[1] == dimension]
        rows = [[self._nodes[node] for node in nodes] for *_, nodes in chosen]
        return Cells(
            np.cumsum([0, *map(len, rows)], dtype=np.int64),
            np.concatenate(rows).astype(np.int64),
            np.array([corners for _, _, corners, _ in chosen], np.int64),
            dimension,
        )


def _lines(path: Path, comment: str | tuple[str, ...] = ()) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) of every line that is neither blank nor a comment."""
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip() and not line.lstrip().startswith(comment):
            yield number, line.rstrip()


def read_gmsh(path: Path) -> Cells:
    """Read a Gmsh mesh in text of version 1, 2, 4.0 or 4.1, partitioned or not.

    Raises:
        InputError: no such mesh, truncated, other lines than the counts promise, or an unknown type
            of element.
    """
    deck = _Deck(path)
    sections: dict[str, list[tuple[int, list[str]]]] = {}
    name = ""
    for number, line in _lines(path):
        if line.startswith("$"):
            name = line[1:].strip().upper()
            sections.setdefault(name, [])
        else:
            sections.setdefault(name, []).append((number, line.split()))
    nodes, elements = (
        sections.get(key) or sections.get(key[:3].replace("ELE", "ELM"))
        for key in ("NODES", "ELEMENTS")
    )
    if not name.startswith("END"):
        raise InputError(f"{path}: no Gmsh mesh, or truncated: its last line must be $End…")
    if not nodes or not elements:
        raise InputError(f"{path}: no Gmsh mesh: sections of nodes and of elements required")
    version = (sections.get("MESHFORMAT") or [(0, ["1"])])[0][1][0]
    if version.split(".")[0] not in ("1", "2", "4"):
        raise InputError(f"{path}: Gmsh version {shortened(version)}: 1, 2 or 4 required")
    is_flat = version[0] < "4"
    try:
        each = 2 if len(nodes[0][1]) == 4 else 1
        for _, number, words in _gmsh_rows(path, nodes, each, is_flat):
            deck.add_node(number, words[0])
        for kind, number, words in _gmsh_rows(path, elements, 1, is_flat):
            first = 1
            if is_flat:
                kind, first = words[1], 5 if version[0] == "1" else 3 + int(words[2])
            dimension, corners, count = _GMSH.get(kind, (0, 0, 0))
            if len(words) != first + count or not count:
                rule = f"{count} nodes required" if count else "unknown type"
                given = len(words) - first
                raise deck.error(number, f"element of type {kind}: {rule}, given {given} nodes")
            deck.add_cell(number, [words[0], *words[first:]], dimension, corners)
    except (ValueError, IndexError):
        raise InputError(f"{path}: no valid Gmsh mesh of version {version}") from None
    return deck.cells()


def _gmsh_rows(
    path: Path, rows: list[tuple[int, list[str]]], lines_each: int, is_flat: bool
) -> Iterator[tuple[str, int, list[str]]]:
    """Yield (third number of its block, line number, words) of every node or element."""
    (number, counts), at, found = rows[0], 1, 0
    blocks, total = (1, int(counts[0])) if is_flat else (int(counts[0]), int(counts[1]))
    for _ in range(blocks):
        head = ["", "", "", counts[0]] if is_flat else rows[at][1]
        begin, count = at + (not is_flat), int(head[3])
        yield from ((head[2], *row) for row in rows[begin : begin + count])
        at, found = begin + count * lines_each, found + count
    if at != len(rows) or found != total:
        raise InputError(
            f"{path}, line {number}: {total} entries are promised, the section has {found} in "
            f"{len(rows) - 1} lines"
        )


def read_inp(path: Path) -> Cells:
    """Read an `.inp` file: AVS-UCD where its first line is five numbers, else Abaqus."""
    first = next(_lines(path, "#"), (0, ""))[1].split()
    return read_ucd(path) if len(first) == 5 and first[0].isdecimal() else read_abaqus(path)


def read_ucd(path: Path) -> Cells:
    """Read an AVS-UCD mesh: counts, nodes, cells `number material type nodes`, data.

    Raises:
        InputError: other lines than the counts promise, an unknown type, or another number of nodes
            than the type has.
    """
    deck = _Deck(path)
    lines = [(number, line.split()) for number, line in _lines(path, "#")]
    counts = [whole_number(word) or 0 for word in lines[0][1]] if lines else []
    if len(counts) != 5 or min(counts) < 0:
        raise InputError(f"{path}: no AVS-UCD mesh: a first line of five counts required")
    nodes, end = counts[0] + 1, counts[0] + 1 + counts[1]
    if len(lines) < end or (len(lines) > end and not any(counts[2:])):
        raise InputError(
            f"{path}: {'truncated: ' if len(lines) < end else ''}{counts[0]} nodes and {counts[1]} "
            f"cells are promised, the file has {len(lines) - 1} lines of them"
        )
    for number, fields in lines[1:nodes]:
        deck.add_node(number, fields[0])
    for number, fields in lines[nodes:end]:
        dimension, count = _UCD.get("".join(fields[2:3]), (0, 0))
        if len(fields) != 3 + count or not count:
            kinds = ", ".join(f"{kind} {count}" for kind, (_, count) in _UCD.items())
            raise deck.error(number, f"number, material, type and nodes required ({kinds})")
        deck.add_cell(number, [fields[0], *fields[3:]], dimension, count)
    return deck.cells()


def read_abaqus(path: Path) -> Cells:
    """Read the mesh of an Abaqus deck; every part has nodes and cells of its own.

    Raises:
        InputError: a keyword that generates nodes or cells or includes a file, a part that has not
            one instance, an unknown type, or a line that is none of a node or cell.
    """
    deck = _Deck(path)
    part, parts, instances = "", list[str](), list[str]()
    for number, keyword, options, lines in _abaqus_blocks(path):
        if keyword in _ABAQUS_GENERATE or (keyword in ("NODE", "ELEMENT") and "INPUT" in options):
            raise deck.error(number, f"*{keyword}: included or generated cells are not read")
        if keyword == "PART":
            part = options.get("NAME", "")
            parts.append(part)
        elif keyword == "INSTANCE":
            part = options.get("PART", "")
            instances.append(part)
            if instances.count(part) > parts.count(part):
                raise deck.error(number, f"*INSTANCE: '{shortened(part)}' is no part, or has two")
        elif keyword in ("END PART", "END INSTANCE"):
            part = ""
        elif keyword == "NODE":
            for line, text in lines:
                deck.add_node(line, text.split(",")[0], part)
        elif keyword == "ELEMENT":
            _add_elements(deck, number, options.get("TYPE", ""), lines, part)
    if instances and len(instances) < len(parts):
        raise InputError(f"{path}: {len(parts)} parts, {len(instances)} instances: must agree")
    return deck.cells()


def _abaqus_blocks(
    path: Path,
) -> Iterator[tuple[int, str, dict[str, str], list[tuple[int, str]]]]:
    """Yield (line number, keyword, its options, data lines) of every keyword, in upper case."""
    lines = [*_lines(path, "**"), (0, "*")]
    begins = [k for k, (_, line) in enumerate(lines) if line.startswith("*")]
    for begin, end in pairwise(begins):
        number, text = lines[begin]
        while text.endswith(",") and begin + 1 < end:
            begin += 1
            text += lines[begin][1]
        keyword, *options = (" ".join(word.upper().split()) for word in text[1:].split(","))
        pairs = (option.partition("=") for option in options)
        yield (
            number,
            keyword,
            {key.strip(): value.strip(' "') for key, _, value in pairs},
            lines[begin + 1 : end],
        )


def _add_elements(
    deck: _Deck, number: int, kind: str, lines: list[tuple[int, str]], part: str
) -> None:
    """Add the cells of one `*ELEMENT`; a cell may take several lines."""
    if _ABAQUS_POINTS.match(kind):
        deck.skipped.append((number, kind))
        return
    dimension, count = _abaqus_kind(kind)
    if not dimension:
        raise deck.error(number, f"*ELEMENT: unknown type '{shortened(kind)}'")
    words: list[str] = []
    for line, text in lines:
        words += [word for word in text.split(",") if word.strip()]
        number = line
        if len(words) == count + 1:
            deck.add_cell(line, words, dimension, CORNERS[dimension][count], part)
            words = []
        elif len(words) > count or not text.endswith(","):
            break
    if words:
        raise deck.error(number, f"{kind}: {count} nodes required, given {len(words) - 1}")


def _abaqus_kind(kind: str) -> tuple[int, int]:
    """Return the dimension and number of nodes of an Abaqus element; (0, 0) where unknown."""
    if beam := _ABAQUS_LINES.match(kind):
        return 1, 3 if "2" in beam.groups() else 2
    for dimension, pattern in _ABAQUS.items():
        if found := pattern.match(kind):
            count = 6 if found[1] == "65" else int(found[1])
            return (dimension, count) if count in CORNERS[dimension] else (0, 0)
    return 0, 0


def read_nastran(path: Path) -> Cells:
    """Read the mesh of a Nastran deck, in small, large or free fields.

    Raises:
        InputError: an included file, an unknown card of an element, a replicated card, or a cell
            without one of its corners.
    """
    deck = _Deck(path)
    for number, name, fields in _nastran_cards(path):
        if name == "GRID":
            deck.add_node(number, fields[0])
        elif name in _NASTRAN:
            dimension, first, corners, most = _NASTRAN[name]
            nodes = fields[first : first + most]
            words = [word for word in nodes if word.strip("0")]
            if words != nodes[: len(words)] or len(words) not in (corners, most):
                rule = f"{corners} or {most} nodes" if most > corners else f"{corners} nodes"
                raise deck.error(number, f"{name}: {rule} required, given {len(words)}")
            deck.add_cell(number, [fields[0], *words], dimension, corners)
        elif _NASTRAN_POINTS.match(name):
            deck.skipped.append((number, name))
        elif name[0] in "C=" and not _NASTRAN_OTHERS.match(name):
            raise deck.error(number, f"unknown card of an element: {shortened(name)}")
    return deck.cells()


def _nastran_cards(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Yield (line number, name, fields) of every card of the bulk data, continuations joined."""
    lines = [(number, line.expandtabs(8).partition("$")[0]) for number, line in _lines(path, "$")]
    for number, line in lines:
        if line.strip().upper().startswith("INCLUDE"):
            raise InputError(f"{path}, line {number}: INCLUDE: other files are not read")
    begin = [k for k, (_, line) in enumerate(lines) if re.match(r"\s*BEGIN\b.*BULK", line, re.I)]
    card, marker = (0, "", list[str]()), ""
    for number, line in lines[begin[0] + 1 if begin else 0 :]:
        if line.strip().upper().startswith("ENDDATA"):
            break
        name, fields, following = _nastran_fields(line)
        if name[:1] in ("", "+", "*"):
            if name[1:] and name[1:] != marker:
                raise InputError(f"{path}, line {number}: continues '{name[1:]}', not '{marker}'")
            card[2].extend(fields)
        else:
            if card[0]:
                yield card
            card = number, name.rstrip("*"), fields
        marker = following
    if card[0]:
        yield card


def _nastran_fields(line: str) -> tuple[str, list[str], str]:
    """Return the name of a line, its 8 fields (4 large ones), and the marker that continues it."""
    if "," in line:
        name, *fields = (word.strip().upper() for word in line.split(","))
        width = 4 if "*" in name else 8
        if len(fields) > width + 1:
            return name, fields, ""
        marker = "".join(fields[width:])
        return name, (fields + [""] * width)[:width], marker[1:]
    width = 16 if "*" in line[:8] else 8
    fields = [line[at : at + width].strip().upper() for at in range(8, 72, width)]
    return line[:8].strip().upper(), fields, line[73:80].strip().upper()
