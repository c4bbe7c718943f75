"""Settings of the documentation; `make docs` builds it, with every warning an error."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import matplotlib

import htsvm

matplotlib.use("Agg")
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
# What an example warns about is shown in its output; nothing may depend on a network.
os.environ["HTSVM_OFFLINE"] = "1"
warnings.filterwarnings("ignore", category=UserWarning, message=".*non-interactive.*")

project = "htsvm"
author = "The htsvm developers"
copyright = "The htsvm developers"
version = release = htsvm.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/README.md"]
templates_path = ["_templates"]
default_role = "code"

# ----------------------------------------------------------------------------- pages and pictures
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_theme = "pydata_sphinx_theme"
html_title = f"htsvm {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "htsvm"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "start/**": ["sidebar-nav-bs"], "search": []}

# -------------------------------------------------------------------------------------- reference
autosummary_generate = True
autodoc_typehints = "none"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
numpydoc_class_members_toctree = False

# ---------------------------------------------------------------------------------------- gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "gallery_order.InReadingOrder",
    "backreferences_dir": "reference/generated/backreferences",
    "doc_module": ("htsvm",),
    "inspect_global_variables": True,
    # Under -W the warning is an error, but the rest of the site is built.
    "only_warn_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1000,
    "write_computation_times": False,
    "download_all_examples": False,
    "matplotlib_animations": False,
    "reset_modules": ("matplotlib", "gallery_order.reset"),
    "image_scrapers": ("matplotlib",),
    "plot_gallery": "True",
    "copyfile_regex": "",
}
suppress_warnings = ["config.cache", "myst.xref_missing_external"]
linkcheck_timeout = 10
linkcheck_retries = 2
linkcheck_ignore = [r"http://localhost.*"]
linkcheck_anchors = False
