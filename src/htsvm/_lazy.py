"""Names that a package loads when they are first asked for, so that importing it stays quick."""

import importlib
from collections.abc import Callable
from typing import Any


def lazy(package: str, places: dict[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package: names, and the modules that define them.

    An empty name of a module stands for the module of that name in the package.
    """

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(places[name] or f"{package}.{name}")
        return getattr(module, name) if places[name] else module

    return load
