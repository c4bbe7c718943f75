"""Writing a file as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def written_whole(path: Path) -> Iterator[TextIO]:
    """Open a file that takes the place of `path` only if the block ends without an error.

    The file is made at once, next to `path`, so that a path that cannot be written is known before
    the work begins. An earlier file at `path` stays as it is until then.

    Parameters
    ----------
    path : Path
        Where the file is to appear.

    Raises
    ------
    OSError
        If `path` cannot be written.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise OSError("it is not a file")
    if target.exists() and not os.access(target, os.W_OK):
        raise OSError("it is write-protected")
    if not target.parent.is_dir():
        raise OSError(f"the folder {target.parent} does not exist")
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with draft.open("x", encoding="utf-8") as file:
            yield file
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
