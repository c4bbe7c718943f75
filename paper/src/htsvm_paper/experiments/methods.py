"""The methods that are compared, as `methods.toml` names them; classes are imported when needed."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module, resources
from inspect import signature
from typing import Any

from htsvm_paper._names import hint

SINGLE, MULTI, OTHER, RIVAL = "single-view", "multi-view", "other", "rival"
ABLATION, AS_PRINTED, VARIANT, KERNEL = "ablation", "as-printed", "variant", "kernel"
SWEEP = "sweep"
PAPER, NESTED = "paper", "nested"

Params = dict[str, Any]


class Unavailable(Exception):
    """A method cannot be used here; the message says why."""


@dataclass(frozen=True, eq=False)
class Method:
    """A classifier and what is tried for its hyper-parameters.

    `label` is the title of its column (the paper's, where `in_paper`), `target` its class, or a
    function that makes the model, as ``"module:Class"``. `kind` says in which comparisons it takes
    part. `penalties` take the values of the experiment's grid, `shapes` values of their own, and
    `fixed` parameters do not change. `search` is how the nested protocol scores the grid: point by
    point ("grid"), HTSVC along warm-started paths ("path"), for the hinge loss along those of the
    same convex problem ("hinge-path"), MultiViewHTSVC with one preparation per fold ("sweep").
    """

    name: str
    label: str
    target: str
    kind: str
    penalties: tuple[str, ...] = ("C",)
    shapes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    search: str = "grid"
    protocols: tuple[str, ...] = (PAPER, NESTED)
    in_paper: bool = True

    def resolve(self) -> Callable[..., Any]:
        """Return what makes the model, or raise `Unavailable`."""
        module, _, name = self.target.partition(":")
        try:
            found: Callable[..., Any] = getattr(import_module(module), name)
        except ImportError as error:
            raise Unavailable(f"{self.target} cannot be imported ({error})") from error
        except AttributeError:
            raise Unavailable(f"{module} has no {name}") from None
        return found

    def has_parameter(self, name: str) -> bool:
        """Whether its class has a parameter of this name."""
        return name in signature(self.resolve()).parameters

    def axes(self, values: Sequence[float], *, quick: bool = False) -> dict[str, list[Any]]:
        """Return the values of each parameter: penalties take `values`, shapes their own."""
        axes: dict[str, list[Any]] = {name: sorted(values) for name in self.penalties}
        shapes = {name: list(shape[:1] if quick else shape) for name, shape in self.shapes.items()}
        return {**axes, **shapes}

    def make(
        self, params: Params, *, seed: int, view_widths: Sequence[int] = (), n_samples: int = 0
    ) -> Any:
        """Return an unfitted model with these hyper-parameters.

        What else it takes it is given: a seed as `random_state`, the widths of `views`,
        `n_samples`.
        """
        cls = self.resolve()
        options = {**self.fixed, **params}
        if self.has_parameter("random_state"):
            options.setdefault("random_state", seed)
        if self.has_parameter("views"):
            options["views"] = list(view_widths)
        if self.has_parameter("n_samples"):
            options["n_samples"] = n_samples
        return cls(**options)


def _methods() -> dict[str, Method]:
    text = resources.files("htsvm_paper.experiments").joinpath("methods.toml").read_text("utf-8")
    found = {}
    for name, known in tomllib.loads(text).items():
        options: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in known.items()
        }
        found[name] = Method(name, **options)
    return found


METHODS = _methods()


def of_kind(*kinds: str) -> list[str]:
    """Return the names of the methods of some kinds."""
    return [name for name, method in METHODS.items() if method.kind in kinds]


def get(name: str) -> Method:
    """Return a method by name; for an unknown one, list the nearest."""
    if name not in METHODS:
        raise ValueError(f"Unknown method {name!r}; {hint(name, METHODS)}")
    return METHODS[name]
