"""Audits on disk: a folder with one JSON file that any program can read."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from htsvm.audit.checks import Finding
from htsvm.audit.result import LabelAudit

FORMAT = "htsvm-audit-2"
# The samples are data, and not part of what was found.
LEFT_OUT = ("samples",)


def save_audit(audit: LabelAudit, path: Path) -> Path:
    """Write ``audit.json`` into a new folder, which appears only when all is written."""
    if path.exists():
        raise FileExistsError(f"{path} exists already; an audit is saved into a new folder.")
    if not path.resolve().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.resolve().parent} does not exist.")
    found: dict[str, Any] = {"format": FORMAT}
    for name in (one.name for one in fields(audit) if one.name not in LEFT_OUT):
        value = getattr(audit, name)
        if isinstance(value, np.ndarray):
            value = value.astype(str) if value.dtype.kind == "M" else value
            value = value.tolist()
        found[name] = [vars(one) for one in value] if name == "findings" else value
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    draft.mkdir()
    try:
        text = json.dumps(found, default=str)
        (draft / "audit.json").write_text(text, encoding="utf-8")
        draft.rename(path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return path


def load_audit(path: Path) -> LabelAudit:
    """Read what `save_audit` wrote."""
    try:
        found = json.loads((path / "audit.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} holds no audit.json: it is not a saved audit.") from None
    if found.pop("format", None) != FORMAT:
        raise ValueError(f"{path} is an audit of another version; expected {FORMAT!r}.")
    findings = tuple(Finding(**one) for one in found.pop("findings"))
    arrays: dict[str, Any] = {
        name: np.array(v) if isinstance(v, list) else v for name, v in found.items()
    }
    return LabelAudit(**arrays, findings=findings)
