"""All that is used of scikit-learn's private modules, so that one file follows its releases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from sklearn.base import _fit_context
from sklearn.utils._metadata_requests import _routing_enabled
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import (
    _check_feature_names,
    _check_feature_names_in,
    _check_method_params,
    _check_sample_weight,
    _get_feature_names,
)

__all__ = [
    "HasMethods",
    "Interval",
    "StrOptions",
    "check_feature_names",
    "check_feature_names_in",
    "check_method_params",
    "check_sample_weight",
    "get_feature_names",
    "routing_enabled",
    "validated_fit",
]

Method = TypeVar("Method", bound=Callable[..., Any])

check_feature_names = _check_feature_names
check_feature_names_in = _check_feature_names_in
check_method_params = _check_method_params
check_sample_weight = _check_sample_weight
get_feature_names = _get_feature_names
routing_enabled = _routing_enabled


def validated_fit(method: Method) -> Method:
    """Check the parameters before a fit, as scikit-learn does; the types stay what they are."""
    return cast(Method, _fit_context(prefer_skip_nested_validation=True)(method))
