"""Types used throughout."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numpy.typing as npt
from sklearn.base import _fit_context

# Releases of scikit-learn that have callbacks load them in the first fit of any estimator, which
# would take several times as long as the next one. To know a data frame, they look through the
# installed packages once: 3 ms.
with contextlib.suppress(ImportError):
    importlib.import_module("sklearn.callback")
with contextlib.suppress(ImportError, AttributeError):
    importlib.import_module("narwhals").dependencies.is_into_dataframe(None)

Array: TypeAlias = npt.NDArray[Any]
Method = TypeVar("Method", bound=Callable[..., Any])


def validated_fit(method: Method) -> Method:
    """Check the parameters before a fit, as scikit-learn does; the types stay what they are."""
    return cast(Method, _fit_context(prefer_skip_nested_validation=True)(method))
