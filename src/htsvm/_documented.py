"""Parameters and attributes that several estimators and functions share, described once.

A docstring names them in braces, ``{tol}, {max_iter}``, where their entries belong. They are filled
in when the class is defined, each parameter with its own default, so that ``help`` shows them all.
Of two descriptions of one name, the second is called ``{name of something}``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from textwrap import indent
from typing import Any, TypeVar, cast

Documented = TypeVar("Documented")

ENTRIES = """\
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    Samples.
y : array-like of shape (n_samples,)
    Class labels, of any type.
sample_weight : array-like of shape (n_samples,), optional
    Factors of C per sample. Zero takes a sample out.
sample_weight of folds : array-like of shape (n_samples,), optional
    Factors of C per sample; they also weigh the held-out samples.
**params : dict
    ``groups`` for the splitter. With metadata routing enabled, whatever the splitter and the scorer
    have requested.
ax : matplotlib Axes, optional
    Where to draw; a new figure by default.
C : float
    Penalty of the loss; larger means less regularisation.
knee : float, default=2/3
    Where the straight part of the loss ends, as a share of the cap; in (0, 1).
tol : float
    The largest residual of the P-stationarity conditions.
tol of gaps : float
    The largest relative duality gap.
tol of views : float
    The largest residual of the P-stationarity conditions in each view, and the largest change of a
    view weight in another round.
max_iter : int
    The largest number of iterations.
max_iter of views : int
    The largest number of iterations of the solver for one view in one round.
fit_intercept : bool
    Whether to fit an intercept, which is not regularised.
class_weight : dict, "balanced" or None
    Factors of C per class; "balanced" gives all classes the same total weight.
multi_class : {"auto", "joint", "crammer_singer", "ovr"}
    How to fit more than two classes: as one problem for all ("joint", also called
    "crammer_singer"), or each class against the rest with balanced weights ("ovr"). "auto" is
    "joint".
warm_start : bool
    Whether to start from the last solution too. Where the loss is truncated that is one more
    start: the result is no higher than without it, but there is nothing saved.
starts : "auto" or list of str
    Where the "newton" solver starts, where the loss is truncated: "least_squares", "convex" (the
    solution without truncation), "annealed" (by sigmoids, from least squares) and "pushed" (from
    the lowest point so far with other sample weights, a few times). They are compared by quick
    searches, and the one that leads lowest is taken; "auto" tries all of them, for several classes
    in one problem "convex" and "annealed". ``["convex"]`` is the quickest.
starts of views : "auto" or list of str
    Where the "newton" solver starts in the first round of each view: "least_squares", "convex" (the
    solution without truncation), "annealed" (by sigmoids, from least squares) and "pushed" (from
    the lowest point so far with other sample weights, a few times). They are compared by quick
    searches, and the one that leads lowest is taken; "auto" tries all of them.
n_jobs : int or None
    Threads over the binary problems of a fit with more than two classes.
n_jobs of folds : int or None
    Threads over folds.
random_state : int, RandomState or None
    Drives all that is random in the solver: the sample of rows of the first, rough phase on large
    data, and pushes. None always takes the same seed, so that a fit can be repeated.
random_state of views : int, RandomState or None
    Drives the solver's sample of rows and pushes, and the summary that is clustered where there
    are many samples. None always takes the same seed, so that a fit can be repeated.
verbose : int
    Whether to print a line per iteration.
verbose of folds : int
    1 prints a line per fold and the choice; 2 also a line per iteration of the final fit.
cv : int, splitter or iterable
    The folds: their number, a splitter of scikit-learn, or pairs of training and test indices. None
    is stratified 5-fold; folds given by their number are shuffled, driven by `random_state`.
kernel : str or callable, default="rbf"
    The kernel: "rbf", "poly", "sigmoid", "laplacian", "cosine", "linear" or "precomputed". A
    callable takes two sets of rows and returns their kernel matrix. With
    "precomputed", X is the kernel matrix of the training samples in `fit`, and that of other
    samples with the training samples elsewhere.
n_landmarks : int, "auto" or None, default="auto"
    None solves the problem of the whole kernel matrix. A number restricts w to combinations of
    this many training samples, the landmarks (Nystroem's method). "auto" is exact up to 10,000
    samples (1,500 for more than two classes in one problem) and as far as `memory_limit`
    allows, else ``4 * sqrt(n_samples)`` landmarks, between 250 and 1,000.
landmark_selection : {"kmeans++", "uniform"}, default="kmeans++"
    How landmarks are chosen. A precomputed kernel has no rows to look at: there the choice is
    uniform.
degree : float
    Degree of "poly".
coef0 : float
    Constant term of "poly" and "sigmoid".
memory_limit : float
    Megabytes that a kernel matrix, or the coordinates on landmarks, may take.
view_weights : {"learned", "uniform"}, array-like or dict
    Whether to learn the view weights, or which ones to keep; these must add up to 1.
kernel of views : {"linear", "rbf"} or callable, or list or dict of these
    The kernel, for all views or one for each. A callable gets two matrices of samples and returns
    the matrix of their kernel. A kernel needs a matrix with a row and column per distinct sample.
gamma of views : "scale", float, or list or dict of these
    The factor in the "rbf" kernel; "scale" is 1 / (n_columns * variance of the view).
views : None, list or dict
    The columns of each view in a two-dimensional X: slices, index lists, masks, column names,
    callables that return one of these (`make_column_selector`, `columns_starting_with`), or the
    widths of views that lie side by side. None is one view of all columns, or goes with a list or
    dict of matrices. A column may be in several views, or in none: then it is not used.
max_rounds : int
    The largest number of rounds: classifiers, then weights.
memory : None, str or joblib.Memory
    Where to keep clusters and covariances, so that other fits on the same samples (other parameters
    in a grid, for instance) find them there.
best_index_ : int
    The row of the chosen point in `cv_results_`.
best_score_ : float
    The mean score of the chosen point.
cv_results_ : dict of ndarrays
    The table of the grid, as `GridSearchCV` gives it; for ``pandas.DataFrame``.
n_splits_ : int
    The number of folds.
certificate_ of gaps : list of Certificate
    For each binary problem, the residuals of the optimality conditions and the duality gap
    (`duality_gap`, `relative_duality_gap`): the objective is above its minimum by no more.
coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    Weights.
coef_ of views : ndarray of shape (1, n_features) or (n_classes, n_features)
    The decision as one linear function of all columns; only with linear kernels.
intercept_ : ndarray of shape (1,) or (n_classes,)
    Intercepts.
intercept_ of views : ndarray of shape (1,) or (n_classes,)
    The intercepts of the decision.
classes_ : ndarray of shape (n_classes,)
    The class labels.
objective_ : ndarray
    The objective of each problem: one, or one per class against the rest.
support_ : ndarray
    Indices of the support vectors.
n_support_ : ndarray of shape (n_classes,)
    Their number per class.
dual_coef_ : ndarray of shape (1 or n_classes, n_support)
    Their coefficients: ``coef_ == dual_coef_ @ X[support_]``.
ignored_ : ndarray
    Indices of the samples that were ignored (with one problem per class, in that of their own).
history_ : dict of ndarrays
    One entry per iteration in each column; ``pandas.DataFrame(clf.history_)`` shows it. With the
    "newton" solver: iteration, the start whose search ended there, width (how far the kink of the
    loss is rounded), objective, residual, steps, passes over the data, seconds; with several
    classes in one problem also sweeps.
n_iter_ : int
    Iterations (the most over the problems).
n_passes_ : float
    The work, in units of one product ``X @ w``.
seconds_ : list of dict
    For each problem, seconds by part, which add up to "total": with the "newton" solver "search",
    "finish" and "certificate".
n_features_in_ : int
    The number of columns of X, or of all views together.
feature_names_in_ : ndarray
    Their names, if X had any.
view_names_ : list
    The keys of a dict of views; 0, 1, ... for a list.
view_columns_ : list of ndarrays
    The columns of each view in X, or in the stacked views.
view_coef_ : list of ndarrays
    The weights of the columns of each view; with a kernel, of the distinct training samples.
view_intercept_ : ndarray of shape (n_views,) or (n_classes, n_views)
    The intercepts of the views.
"""


def _by_name(entries: str) -> dict[str, str]:
    parts = re.split(r"^(?=\S)", entries, flags=re.M)
    return {entry.partition(" : ")[0]: entry for entry in parts if entry}


_BY_NAME = _by_name(ENTRIES)
# A line of names in braces, and its margin.
_LINE = re.compile(r"^( *)(\{[\w* ]+\}(?:, \{[\w* ]+\})*),?\n", re.M)


def documented(kind: Documented, more: str = "") -> Documented:
    """Fill in the entries that the docstring of a class or function names in braces.

    Parameters
    ----------
    kind : class or function
        Whose docstring it is.
    more : str, optional
        Further entries, such as those that another package's estimators share.
    """
    if kind.__doc__ is None:  # python -OO
        return kind
    parameters = inspect.signature(cast(Callable[..., Any], kind)).parameters
    known = _BY_NAME | _by_name(more)

    def entries(line: re.Match[str]) -> str:
        keys = line[2][1:-1].split("}, {")
        return indent("".join(_entry(key, known[key], parameters) for key in keys), line[1])

    kind.__doc__ = _LINE.sub(entries, kind.__doc__)
    return kind


def _entry(key: str, entry: str, parameters: Mapping[str, inspect.Parameter]) -> str:
    """Return an entry, with the default of the parameter."""
    name = key.partition(" of ")[0]
    head, _, description = entry.partition("\n")
    kind = head.partition(" : ")[2]
    default = parameters[name].default if name in parameters else inspect.Parameter.empty
    if default is not inspect.Parameter.empty and not re.search("default=|optional", kind):
        kind += f', default="{default}"' if isinstance(default, str) else f", default={default!r}"
    return f"{name} : {kind}\n{description}"
