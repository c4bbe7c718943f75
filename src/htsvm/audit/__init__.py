"""Which labels are wrong: an audit of labelled data, with a page to review them."""

from htsvm.audit.audit import audit_labels
from htsvm.audit.checks import Finding
from htsvm.audit.classifier import AuditedClassifier
from htsvm.audit.result import Estimate, LabelAudit

__all__ = ["AuditedClassifier", "Estimate", "Finding", "LabelAudit", "audit_labels"]
