"""How good a point is, computed from first principles: nothing here knows of any solver."""

from htsvm.optimality.certificate import Certificate, certify
from htsvm.optimality.partition import Partition, SampleStatus, partition, sample_status

__all__ = ["Certificate", "Partition", "SampleStatus", "certify", "partition", "sample_status"]
