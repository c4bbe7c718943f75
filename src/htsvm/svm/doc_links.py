"""Where the pages of estimators are, for their HTML representation."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any, ClassVar

# Packages that the reference lists names of, the first that has a name first.
PACKAGES = ("htsvm", "htsvm.baselines", "htsvm.multiview")


def site() -> str:
    """Return the address of the documentation: `HTSVM_DOCS`, or what `make docs` built here, or "".

    An installed version knows no address of its own.
    """
    given = os.environ.get("HTSVM_DOCS", "").rstrip("/")
    built = Path(__file__).parents[3] / "build" / "docs"
    return given or (built.as_uri() if (built / "index.html").is_file() else "")


class DocLinks:
    """Links an estimator to its page in the reference."""

    _doc_link_module: ClassVar[str] = "htsvm"

    @property
    def _doc_link_template(self) -> str:
        where = site()
        return where and f"{where}/reference/generated/{{package}}.{{name}}.html"

    def _doc_link_url_param_generator(self) -> dict[str, Any]:
        name = type(self).__name__
        known = (p for p in PACKAGES if name in importlib.import_module(p).__all__)
        return {"package": next(known, "htsvm"), "name": name}
