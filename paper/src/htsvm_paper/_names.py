"""What to say of a name that is not known."""

from collections.abc import Iterable
from difflib import get_close_matches


def hint(name: str, known: Iterable[str], *, most: int = 3, shown: int = 99) -> str:
    """Return the known names nearest to one; if none is near, the first few of them."""
    every = list(known)
    if near := get_close_matches(name, every, n=most, cutoff=0.4):
        return f"did you mean {', '.join(near)}?"
    few = ", ".join(every[:shown])
    return f"there are {few}." if len(every) <= shown else f"there are {few} and more."
