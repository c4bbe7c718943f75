"""The page on which people review suspects: one file that works offline.

Everything from the data reaches the page as JSON in a block that is not run, and is shown as
text. A content policy allows no script but the page's own, by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from io import BytesIO
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from htsvm._typing import Array
from htsvm.audit.reading import TableFile
from htsvm.audit.reasons import reasons_of, word_reasons
from htsvm.audit.table import digest_of, read_table

if TYPE_CHECKING:
    from htsvm.audit.result import LabelAudit
    from htsvm.audit.table import Table

# Suspects that are shown with neighbours and pictures; the others without.
EXPLAINED = 2000
# Classes up to which the whole noise matrix is shown, and pairs that are shown of larger ones.
WHOLE, PAIRS = 15, 30
# Rows on which the page estimates the share of wrong labels.
SAMPLED = 4000
# The side of a thumbnail in pixels, the characters of a text, and the bars of the histogram.
THUMB, TEXT = 96, 1500
BINS = 25


def page_of_audit(audit: LabelAudit, frame: Any, path: Path) -> str:
    """Return the page of an audit that was made in Python, from the table that people know."""
    import pandas as pd

    if frame is None:
        if not isinstance(audit.samples, np.ndarray):
            raise ValueError("to_html needs frame=, a data frame with what people should see.")
        names = [f"column {j}" for j in range(audit.samples.shape[1])]
        frame = pd.DataFrame(audit.samples, columns=names)
    if len(frame) != len(audit):
        raise ValueError(f"frame has {len(frame)} rows, but {len(audit)} labels were audited.")
    label = next(name for name in ("label", "label_", "the label") if name not in frame.columns)
    whole = frame.reset_index(drop=True).assign(**{label: audit.classes[audit.codes].astype(str)})
    table = read_table(TableFile(path, path.stem, whole), label)
    return render(payload(audit, table, audit.suspects()))


def render(data: dict[str, Any]) -> str:
    """Return the page with the data that `payload` makes."""
    files = resources.files("htsvm.audit")
    names = ("page.html", "page.css", "review.js", "page.js")
    html, style, review, script = ((files / name).read_text(encoding="utf-8") for name in names)
    script = review + script
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    page = Template(html)
    return page.substitute(policy=policy, style=style, script=script, data=safe_json(data))


def safe_json(data: Any) -> str:
    """Return JSON in which no character can end the block it stands in."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def payload(audit: LabelAudit, table: Table, rows: Array) -> dict[str, Any]:
    """Return what the page shows, as JSON can hold it; `rows` are in the order of the page."""
    explained = rows[:EXPLAINED]
    rank = np.empty(len(audit), dtype=int)
    rank[np.argsort(audit.trust, kind="stable")] = np.arange(1, len(audit) + 1)
    near = _near(audit, table, explained)
    first = audit.rows_to_review(max(audit.enough - audit.n_reviewed, 0))
    place = {int(row): i for i, row in enumerate(rows)}
    return {
        "name": table.source.name,
        "place": digest_of([str(table.source.path.resolve()), table.source.name, table.label]),
        "mark": table.mark,
        "label": table.label,
        "idColumn": table.id or "",
        "size": len(audit),
        "classes": [str(label) for label in audit.classes],
        "fits": int(audit.fits),
        "summary": f"{audit.summary} {len(rows):,} rows are listed here.",
        "first": [place[int(row)] for row in first if int(row) in place],
        "review": _review(audit),
        "findings": [finding.text for finding in (*table.findings, *audit.findings)],
        "histogram": np.histogram(audit.trust, bins=BINS, range=(0.0, 1.0))[0].tolist(),
        "whole": len(audit.classes) <= WHOLE,
        "pairs": _pairs(audit),
        "sorted": bool(np.all(np.diff(audit.trust[rows]) >= 0.0)),
        "images": _thumbs(table, explained, near),
        "rows": {
            "row": rows.tolist(),
            "number": (table.places[rows] + 1).tolist(),
            "key": [table.keys[row] for row in rows],
            "id": [row_name(table, row) for row in rows],
            "rank": rank[rows].tolist(),
            "given": audit.codes[rows].tolist(),
            "suggested": audit.suggested[rows].tolist(),
            "trust": np.round(audit.trust[rows], 4).tolist(),
            "evidence": np.round(audit.evidence[rows, 1:], 3).tolist(),
            "ignored": audit.ignored[rows].tolist(),
            "duplicate": audit.duplicate[rows].tolist(),
            "outlier": audit.outlier[rows].astype(int).tolist(),
            "text": [text_of(table, row)[:TEXT] for row in rows] if table.columns.texts else None,
            "reasons": _reasons(audit, table, rows),
            "near": near,
        },
    }


def row_name(table: Table, row: int) -> str:
    """Return the id of a row, or its number from 1."""
    if table.id is None:
        return f"row {table.places[row] + 1}"
    return str(table.frame[table.id].iloc[row])


def _review(audit: LabelAudit) -> dict[str, Any]:
    """Return what the page needs to calibrate itself: see `htsvm.audit.trust`."""
    free = np.flatnonzero(audit.unseen)
    some = free[:: max(1, len(free) // SAMPLED)]
    return {
        "mean": audit.calibration.mean.tolist(),
        "precision": np.linalg.inv(audit.calibration.covariance).tolist(),
        "reviewed": audit.n_reviewed,
        "spotless": audit.calibration.spotless,
        "enough": audit.enough,
        "free": len(free),
        "sample": np.round(audit.evidence[some, 1:], 3).tolist(),
        "weight": audit.weights[some].tolist(),
        "learnable": audit.learnable,
    }


def _pairs(audit: LabelAudit) -> list[list[float]]:
    k, rates = len(audit.classes), audit.noise_matrix
    order = np.arange(k * k)
    if k > WHOLE:
        order = np.argsort(-(rates - 2.0 * np.eye(k)).ravel(), kind="stable")[:PAIRS]
    return [[int(p // k), int(p % k), round(float(rates.ravel()[p]), 4)] for p in order]


def _near(audit: LabelAudit, table: Table, rows: Array) -> list[Any]:
    if audit.samples is None or not len(rows):
        return []
    found = audit.neighbours(rows)
    return [
        [[[int(r), _brief(table, int(r))] for r in found[int(row)][part]]
         for part in ("given", "suggested")]
        for row in rows
    ]  # fmt: skip


def _brief(table: Table, row: int) -> str:
    """Return a sample in a few words."""
    if table.columns.texts:
        return f"{row_name(table, row)}: {text_of(table, row)[:160]}"
    shown = [c for c in table.frame.columns if c not in (table.label, table.id)][:4]
    values = ", ".join(f"{c} {table.frame[c].iloc[row]}" for c in shown)
    return f"{row_name(table, row)}: {values[:200]}"


def text_of(table: Table, row: int) -> str:
    """Return the texts of a row, one below the other."""
    values = (table.frame[name].iloc[row] for name in table.columns.texts)
    return "\n\n".join("" if value is None or value != value else str(value) for value in values)


def _reasons(audit: LabelAudit, table: Table, rows: Array) -> list[Any] | None:
    if table.columns.numbers is not None:
        return reasons_of(audit, table, rows)
    if table.columns.texts and table.images is None:
        return word_reasons(audit, table, rows[:EXPLAINED])
    return None


def _thumbs(table: Table, rows: Array, near: list[Any]) -> dict[str, str] | None:
    """Return small JPEGs of the suspects and their neighbours as data addresses, by row."""
    if table.images is None:
        return None
    from PIL import Image

    found = {}
    for row in sorted({*rows.tolist(), *(r for parts in near for part in parts for r, _ in part)}):
        with Image.open(table.images[row]) as image:
            small = image.convert("RGB")
            small.thumbnail((2 * THUMB, 2 * THUMB))
            buffer = BytesIO()
            small.save(buffer, "JPEG", quality=80)
        found[str(row)] = "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
    return found
