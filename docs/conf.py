"""Settings of the docs site: ``sphinx-build -W docs docs/_build``, offline."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent / "_ext"))
os.environ.setdefault("MPLBACKEND", "Agg")

import kvbounds

project = "kvbounds"
author = "The kvbounds developers"
copyright = "2026, the kvbounds developers"  # noqa: A001 - Sphinx names it so
version = release = kvbounds.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx-mathjax-offline",
    "commands",
    "ledger",
    "modules",
]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "**.ipynb_checkpoints"]

myst_enable_extensions = ["amsmath", "dollarmath", "colon_fence", "deflist", "attrs_block"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

# The build executes every page's code: a page that no longer runs fails the build.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_show_tb = True
nb_execution_timeout = 240
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_render_markdown_format = "gfm"  # tables that code has made

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autosummary_generate = True
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "kvbounds"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["pages.css"]
