"""How good a point is, computed from first principles: nothing here knows of any solver."""

from htsvm._moved import moved
from htsvm.optimality.binary import BinaryCertificate, certify
from htsvm.optimality.certificate import Certificate, PointCertificate, certify_problem
from htsvm.optimality.multiclass import MulticlassCertificate, certify_multiclass
from htsvm.optimality.status import SampleStatus, sample_status

__all__ = [
    "BinaryCertificate",
    "Certificate",
    "MulticlassCertificate",
    "PointCertificate",
    "SampleStatus",
    "certify",
    "certify_multiclass",
    "certify_problem",
    "sample_status",
]

__getattr__ = moved(
    __name__,
    {
        "GapCertificate": "htsvm_paper.certificates",
        "GradientCertificate": "htsvm_paper.certificates",
        "Partition": "htsvm_paper.partition",
        "partition": "htsvm_paper.partition",
    },
)
