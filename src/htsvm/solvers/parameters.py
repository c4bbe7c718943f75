"""Parameters of solvers, for those who search over them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self


@dataclass(frozen=True)
class SearchableParameters:
    """`get_params` and `set_params`, so that a grid search reaches ``solver__penalty``."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Of no consequence; solvers hold no estimators.
        """
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Change parameters in place; meant for the copies that a search makes.

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
