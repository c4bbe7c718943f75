"""What a solver is, what it says of itself, and how it is found by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, ClassVar, Self

from htsvm.losses import Loss, require
from htsvm.solvers.result import SolverResult


class Solver(ABC):
    """A frozen dataclass of options that turns a problem of its kind into a `SolverResult`.

    The fields `tol`, `max_iter` and `callback` are those of every solver; `random_state`,
    `n_restarts` and `starts` are set by estimators where a solver has them. Beside these a solver
    says what it can do in class attributes.

    Attributes
    ----------
    requires : tuple of str
        What it needs of a loss: ``"prox"``, ``"profile"``, ``"conjugate"``.
    several_classes : bool
        Whether it also solves the problem of several classes, a `MulticlassProblem`.
    on_dask : bool
        Whether it asks for sums over rows only, so that the rows may be on Dask workers.
    refines : bool
        Whether it continues with a finer tolerance where its own residual was small enough, but
        that of the certificate is not. An algorithm kept as it was published does not.
    """

    requires: ClassVar[tuple[str, ...]] = ()
    several_classes: ClassVar[bool] = False
    on_dask: ClassVar[bool] = False
    refines: ClassVar[bool] = True
    __dataclass_fields__: ClassVar[dict[str, Any]]

    tol: float

    @abstractmethod
    def solve(self, problem: Any, *, start: Any = None) -> SolverResult:
        """Return a stationary point of `problem`, from a warm start if there is one."""

    def check_loss(self, loss: Loss) -> None:
        """Complain of a loss that lacks what the solver needs, and name those that have it."""
        require(loss, self.requires, f"{type(self).__name__}")

    @classmethod
    def option_names(cls) -> set[str]:
        """Return the names of the options."""
        return {field.name for field in fields(cls)}

    def with_options(self, **options: Any) -> Self:
        """Return the solver with these options, as far as it has them."""
        known = self.option_names()
        return replace(self, **{k: v for k, v in options.items() if k in known})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the options by name, so that a search reaches ``solver__penalty``.

        Parameters
        ----------
        deep : bool, default=True
            Of no consequence; solvers hold no estimators.
        """
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Change options in place; meant for the copies that a search makes.

        Parameters
        ----------
        **params : dict
            New values. They are checked as if the solver were made with them.
        """
        known = self.get_params()
        for name in params:
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}."
                )
        checked = type(self)(**{**known, **params})
        for name in params:
            object.__setattr__(self, name, getattr(checked, name))
        return self


# The solvers that estimators find by name.
_BY_NAME: dict[str, type[Solver]] = {}


def register(name: str, kind: type[Solver]) -> None:
    """Let estimators find a solver by `name`; it must work with its default options."""
    _BY_NAME[name] = kind


def solver_names() -> list[str]:
    """Return the names of all registered solvers."""
    return sorted(_BY_NAME)


def named(solver: str | Solver) -> Solver:
    """Return the solver of a name with its default options; solvers pass through."""
    if isinstance(solver, Solver):
        return solver
    if solver not in _BY_NAME:
        raise ValueError(
            f"solver must be a solver object or one of {solver_names()}, got {solver!r}."
        )
    return _BY_NAME[solver]()


def configured(
    solver: str | Solver, asked: Mapping[str, Any], callback: Any = None, **options: Any
) -> Solver:
    """Return a solver with the options of an estimator.

    Parameters
    ----------
    solver : str or Solver
        A name or a solver.
    asked : dict
        Options that a user has asked for: it is an error if the solver does not have them.
    callback : callable, optional
        Takes the place of the solver's own.
    **options
        Options that every estimator has; those that the solver lacks are left out.
    """
    base = named(solver)
    for name, value in asked.items():
        if name not in base.option_names():
            able = [repr(one) for one, kind in _BY_NAME.items() if name in kind.option_names()]
            raise ValueError(
                f"{name}={value!r} needs solver={' or '.join(able)}; {solver!r} has no {name}."
            )
    if callback is not None:
        options["callback"] = callback
    return base.with_options(**options, **asked)
