"""Names that have moved say where they are; all others are missing as usual."""

import importlib

import pytest

import htsvm.baselines

MOVED = {
    "htsvm.baselines": [
        "SVM2K", "MvASYBX", "MvLSSVC2C", "MvSL01SVM", "MvSVM2C", "PinballSVC", "WaveMvSVM",
        "ZeroOneSVC",
    ],
    "htsvm.losses": ["BoundedLinex", "Pinball", "SmoothLoss", "Wave", "ZeroOne"],
    "htsvm.optimality": ["GapCertificate", "GradientCertificate", "Partition", "partition"],
    "htsvm.problems": ["CoupledProblem"],
    "htsvm.solvers": ["ZeroOneSolver"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("package", "name"), [(package, name) for package, names in MOVED.items() for name in names]
)
def test_a_moved_name_says_where_it_is_and_is_there(package, name):
    with pytest.raises(ImportError, match=f"^{name} moved to htsvm_paper.* pip install") as error:
        exec(f"from {package} import {name}")
    there = str(error.value).split(": ")[0].split(" moved to ")[1]
    assert hasattr(importlib.import_module(there), name)


def test_unknown_names_are_missing():
    assert not hasattr(htsvm.baselines, "Nonsense")
    with pytest.raises(ImportError, match="cannot import name 'Nonsense'"):
        exec("from htsvm.losses import Nonsense")
