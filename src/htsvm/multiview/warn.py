"""What a user should know of a multi-view fit that went wrong, and what to try."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from htsvm._typing import Array
from htsvm.exceptions import DroppedViewWarning, IgnoredClassWarning, warn_user
from htsvm.multiview.alternation import LEAST_WEIGHT, Outcome
from htsvm.multiview.view_classifiers import ViewPoints
from htsvm.svm.warn import warn_unconverged


def warn_views(model: Any, outcomes: list[Outcome[ViewPoints]]) -> None:
    """Warn of all that is not well with the views of a fit."""
    counting = [pair for one in outcomes for pair in one.point.counting]
    warn_unconverged(type(model).__name__, counting, model.max_iter)
    _warn_moving(outcomes, model.tol, model.max_rounds)
    _warn_dropped(outcomes, model.view_names_)
    _warn_constant(outcomes, model.view_names_, model._cap_name)


def _warn_moving(outcomes: list[Outcome[ViewPoints]], tol: float, max_rounds: int) -> None:
    """Warn where the weights would still change in another round."""
    change = max(one.change for one in outcomes)
    if change > tol:
        warn_user(
            f"the view weights did not settle: another round would change them by {change:.2e}, "
            f"tol is {tol:.2e}, after max_rounds={max_rounds} rounds. Increase max_rounds, tol or "
            "weight_smoothness.",
            ConvergenceWarning,
        )


def _warn_dropped(outcomes: list[Outcome[ViewPoints]], view_names: list[Hashable]) -> None:
    """Warn where learned weights are zero."""
    dropped = [one for one in outcomes if one.smoothness_needed and np.any(one.weights == 0.0)]
    if not dropped:
        return
    names = _named(view_names, [one.weights == 0.0 for one in dropped])
    where = f" in {len(dropped)} of {len(outcomes)} binary problems" if len(outcomes) > 1 else ""
    needed = max(one.smoothness_needed or 0.0 for one in dropped)
    used = max(one.smoothness for one in dropped)
    warn_user(
        f"the views {names!r} got the weight 0{where} and take no part in the decision: "
        f"weight_smoothness={used:.3g} is small beside the differences between the views' "
        f"costs (||w||² and structure). About {needed:.2g} would have kept every view. (In its own "
        f"problem a view's weight is never less than {LEAST_WEIGHT:g}.)",
        DroppedViewWarning,
    )


def _warn_constant(
    outcomes: list[Outcome[ViewPoints]], view_names: list[Hashable], cap_name: str | None
) -> None:
    """Warn of views that do not tell the classes apart."""
    if len(view_names) == 1:
        return
    flat = [np.array([view.square == 0.0 for view in one.point.views]) for one in outcomes]
    left_out = _named(view_names, [one.left_out for one in outcomes])
    counting = _named(
        view_names, [marks & (one.weights > 0.0) for marks, one in zip(flat, outcomes, strict=True)]
    )
    larger = "C" if cap_name is None else f"C or {cap_name}"
    for names, effect in (
        (left_out, "They were left out (weight 0): learned weights would have trusted them most"),
        (counting, "Their intercepts shift every decision"),
    ):
        if names:
            warn_user(
                f"the classifiers of the views {names!r} are constant (view_coef_ = 0): giving up "
                f"one class is the best that was found for them. {effect}. If these views matter, "
                f"try class_weight='balanced', or a larger {larger}.",
                IgnoredClassWarning,
            )


def _named(view_names: list[Hashable], marked: list[Array]) -> list[Hashable]:
    """Return the names of views that are marked in any problem."""
    return [name for v, name in enumerate(view_names) if any(marks[v] for marks in marked)]
