"""Audits on disk: a folder of CSV and JSON that any program can read."""

from __future__ import annotations

import csv
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from htsvm._typing import Array
from htsvm.audit.checks import Finding
from htsvm.audit.noise_model import NoiseModel

if TYPE_CHECKING:
    from htsvm.audit.result import LabelAudit

FORMAT = "htsvm-audit-1"
# Columns of samples.csv, and the type each is read as.
COLUMNS = {
    "codes": int, "suggested": int, "trust": float, "margin": float, "ignored": int,
    "duplicate": int, "outlier": int, "trusted": int, "weights": float, "doubt": float,
}  # fmt: skip
FLAGS = ("outlier", "trusted")
KINDS: dict[str, type] = {"int": int, "float": float, "str": str}


def save_audit(audit: LabelAudit, path: Path) -> Path:
    """Write ``audit.json``, ``samples.csv`` and ``noise_matrix.csv`` into a new folder.

    The folder appears only when all is written.
    """
    if path.exists():
        raise FileExistsError(f"{path} exists already; an audit is saved into a new folder.")
    if not path.resolve().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.resolve().parent} does not exist.")
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    draft.mkdir()
    try:
        (draft / "audit.json").write_text(json.dumps(_head(audit), indent=1), encoding="utf-8")
        _write_samples(audit, draft / "samples.csv")
        _write_matrix(audit, draft / "noise_matrix.csv")
        draft.rename(path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return path


def load_audit(path: Path) -> LabelAudit:
    """Read what `save_audit` wrote."""
    from htsvm.audit.result import LabelAudit

    try:
        head = json.loads((path / "audit.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} holds no audit.json: it is not a saved audit.") from None
    if head.get("format") != FORMAT:
        raise ValueError(f"{path} has the format {head.get('format')!r}, expected {FORMAT!r}.")
    with (path / "samples.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    columns: dict[str, Array] = {
        name: np.array([kind(row[name]) for row in rows]) for name, kind in COLUMNS.items()
    }
    columns |= {name: columns[name].astype(bool) for name in FLAGS}
    k = len(head["classes"])
    scores = np.array([[float(row[f"score_{j}"]) for j in range(k)] for row in rows])
    stored = head["noise"]
    noise = NoiseModel(
        np.array(stored["rates"]), stored["scale"], np.array(stored["offsets"]),
        np.array(stored["curves"]),
    )  # fmt: skip
    return LabelAudit(
        **columns,
        classes=np.array(head["classes"]),
        fits=head["fits"],
        noise=noise,
        scores=scores,
        index=np.array([KINDS[head["index"]](row["index"]) for row in rows]),
        findings=tuple(Finding(**finding) for finding in head["findings"]),
        about=head["about"],
    )


def _head(audit: LabelAudit) -> dict[str, Any]:
    kinds = {"i": "int", "u": "int", "f": "float"}
    return {
        "format": FORMAT,
        "classes": audit.classes.tolist(),
        "fits": audit.fits,
        "about": audit.about,
        "share_wrong": audit.share_wrong,
        "index": kinds.get(audit.index.dtype.kind, "str"),
        "noise": {
            "rates": audit.noise.rates.tolist(),
            "scale": audit.noise.scale,
            "offsets": audit.noise.offsets.tolist(),
            "curves": audit.noise.curves.tolist(),
        },
        "findings": [vars(finding) for finding in audit.findings],
    }


def _write_samples(audit: LabelAudit, path: Path) -> None:
    columns = [getattr(audit, name).astype(kind).tolist() for name, kind in COLUMNS.items()]
    columns += [column.tolist() for column in audit.scores.T]
    names = [*COLUMNS, *(f"score_{j}" for j in range(audit.scores.shape[1]))]
    given, better = audit.classes[audit.codes].tolist(), audit.classes[audit.suggested].tolist()
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["index", "given_label", "suggested_label", *names])
        writer.writerows(zip(audit.index.tolist(), given, better, *columns, strict=True))


def _write_matrix(audit: LabelAudit, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["true_label \\ given_label", *audit.classes.tolist()])
        for label, line in zip(audit.classes.tolist(), audit.noise.rates.tolist(), strict=True):
            writer.writerow([label, *line])
