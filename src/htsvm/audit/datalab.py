"""Our scores as one of Datalab's issue managers; needs ``cleanlab[datalab]``.

Importing this module registers the issue type "htsvm_label"::

    import htsvm.audit.datalab
    lab = Datalab({"X": X, "y": y}, label_name="y")
    lab.find_issues(issue_types={"htsvm_label": {"features": X}})
    lab.get_issues("htsvm_label")
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

try:
    from cleanlab.datalab.internal.issue_manager import IssueManager
    from cleanlab.datalab.internal.issue_manager_factory import register
except ImportError as error:
    raise ImportError(
        'htsvm.audit.datalab needs Datalab: pip install "cleanlab[datalab]"'
    ) from error

from htsvm.audit.audit import audit_labels


@register
class HTSVMLabelIssueManager(IssueManager):  # type: ignore[misc]
    """Label issues by `htsvm.audit.audit_labels`.

    Options, given in ``issue_types={"htsvm_label": {...}}``: ``features`` (the matrix; Datalab
    hands its own on to its own managers only), ``threshold``, and what `audit_labels` takes.
    """

    description: ClassVar[str] = "Labels that are probably wrong, the least trusted first."
    issue_name: ClassVar[str] = "htsvm_label"
    verbosity_levels: ClassVar[dict[int, list[str]]] = {0: [], 1: [], 2: [], 3: []}

    def __init__(self, datalab: Any, threshold: float = 0.5, features: Any = None, **options: Any):
        super().__init__(datalab)
        self.threshold, self.features, self.options = threshold, features, options

    def find_issues(self, features: Any = None, **_: Any) -> None:
        """Audit the labels of the Datalab.

        Parameters
        ----------
        features : array-like of shape (n_samples, n_features), optional
            The samples.
        """
        import pandas as pd

        X = self.features if features is None else features
        if X is None:
            raise ValueError(
                'htsvm_label needs the samples: issue_types={"htsvm_label": {"features": X}}.'
            )
        audit = audit_labels(X, np.asarray(self.datalab.labels), **self.options)
        self.issues = pd.DataFrame(
            {
                f"is_{self.issue_name}_issue": audit.is_issue(self.threshold),
                self.issue_score_key: audit.trust,
            }
        )
        self.summary = self.make_summary(score=float(np.clip(1.0 - audit.share_wrong, 0.0, 1.0)))
        self.info = self.collect_info(audit)

    def collect_info(self, audit: Any) -> dict[str, Any]:
        """Return what else the audit found."""
        frame = audit.to_frame()
        return {
            "given_label": frame["given_label"].to_numpy(),
            "predicted_label": frame["predicted_label"].to_numpy(),
            "noise_matrix": audit.noise_matrix,
            "share_wrong": audit.share_wrong,
            "audit": audit.about,
        }
