"""How Sphinx builds the guide.

Markdown by MyST, notebooks executed by myst-nb, the interface from its docstrings.

`make docs` builds it to `build/docs`, with warnings as errors. What stands in tables of the code
(methods, patterns, networks, costs, commands, schemas, policies) is written to `build/guide` first,
by `docs/reference.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))

from reference import fix_docstring, write_reference  # noqa: E402

from conset.base import VERSION  # noqa: E402

project = "conset"
author = "the authors of conset"
release = version = VERSION
project_copyright = author

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
highlight_language = "none"
default_role = "code"
nitpicky = False

myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = False  # conset.compile lists arguments that its source does not
suppress_warnings = ["ref.python"]  # `bytes` is a type and an attribute of several classes
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_maximum_signature_line_length = 100

html_theme = "furo"
html_title = f"conset {VERSION}"
html_static_path = ["static"]
html_css_files = ["guide.css"]
html_copy_source = False
html_show_sphinx = False


def setup(app: object) -> None:
    """Writes what is generated, and has docstrings read as they are meant."""
    write_reference(DOCS.parent / "build" / "guide")
    app.connect("autodoc-process-docstring", fix_docstring)  # type: ignore[attr-defined]
