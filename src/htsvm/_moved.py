"""Names that have moved to htsvm-paper: for one release an error says where they are."""

from collections.abc import Callable
from typing import Any


def moved(package: str, names: dict[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that `names` have left; values are new modules."""

    def missing(name: str) -> Any:
        if name in names:
            raise ImportError(
                f"{name} moved to {names[name]}: pip install htsvm-paper (in the folder paper/ of "
                "the repository)"
            )
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return missing
