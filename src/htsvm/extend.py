"""What other packages may build on; all else but `htsvm` itself may change without notice."""

from htsvm.files import written_whole

__all__ = ["written_whole"]
