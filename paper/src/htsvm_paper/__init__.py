"""The paper's experiments, data sets and comparison methods, built on `htsvm`."""

from typing import Any


def __getattr__(name: str) -> Any:
    """Return `TRUSTED_TYPES`: what a saved model may hold, beside the types of `htsvm`."""
    if name != "TRUSTED_TYPES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from htsvm_paper import baselines, certificates
    from htsvm_paper.principal import PrincipalViews

    kinds = [getattr(baselines, kind) for kind in baselines.__all__]
    kinds += [certificates.GapCertificate, certificates.GradientCertificate, PrincipalViews]
    return sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)
