"""Tries an installed htsvm as a new user would: ``python -I tests/smoke.py``.

It needs nothing but the package and what it depends on: no pytest, no sources, no data folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import htsvm
from htsvm.datasets import load_noisy_digits


def command(*arguments: str) -> str:
    """Run ``python -m htsvm`` and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-I", "-m", "htsvm", *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def main() -> None:
    """Check what must work everywhere."""
    folder = Path(htsvm.__file__).parent
    assert "site-packages" in folder.parts, f"{folder} is not an installed package"
    assert (folder / "py.typed").is_file()
    found = command("versions")
    wanted = os.environ.get("HTSVM_SMOKE_KERNELS", "compiled")
    kernels = next(line.split()[1] for line in found.splitlines() if line.startswith("kernels"))
    assert kernels == wanted, f"kernels: {kernels}, expected {wanted}"
    assert command("--version").split() == ["htsvm", htsvm.__version__]

    digits = load_noisy_digits()
    model = htsvm.HTSVC(C=0.01).fit(digits.data, digits.target)
    accuracy = model.score(digits.data_test, digits.target_test)
    assert accuracy > 0.95, accuracy
    assert digits.wrong[model.ignored_].mean() > 0.9
    two = digits.target != 5
    dense = htsvm.HTSVC(C=0.01, tol=1e-6).fit(digits.data[two], digits.target[two])
    sparse = htsvm.HTSVC(C=0.01, tol=1e-6).fit(sp.csr_matrix(digits.data[two]), digits.target[two])
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-3)
    views = htsvm.MultiViewHTSVC(C=0.01, views={"top": 120, "bottom": 120})
    assert views.fit(digits.data[two], digits.target[two]).view_weights_.sum() > 0.99
    print(f"htsvm {htsvm.__version__} works ({kernels} kernels), accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
