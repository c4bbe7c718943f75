"""How good a point is, computed from first principles: nothing here knows of any solver."""

from htsvm.optimality.binary import BinaryCertificate, certify
from htsvm.optimality.certificate import (
    Certificate,
    GapCertificate,
    GradientCertificate,
    PointCertificate,
)
from htsvm.optimality.multiclass import MulticlassCertificate, certify_multiclass
from htsvm.optimality.status import SampleStatus, sample_status
from htsvm.optimality.problem import certify_problem

__all__ = [
    "BinaryCertificate",
    "Certificate",
    "GapCertificate",
    "GradientCertificate",
    "MulticlassCertificate",
    "PointCertificate",
    "SampleStatus",
    "certify",
    "certify_multiclass",
    "certify_problem",
    "sample_status",
]
