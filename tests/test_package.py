from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest
from packaging.version import Version

import htsvm

ROOT = Path(__file__).parents[1]
OLDEST_EXTRAS = ("dask", "plot", "datasets", "audit", "test")
FIT = """
import json, numpy as np, scipy.sparse as sp
from htsvm import HTSVC
from htsvm.linalg import kernels
rng = np.random.default_rng(0)
X = rng.standard_normal((400, 8)) * (rng.random((400, 8)) < 0.5)
y = (X @ np.arange(1.0, 9.0) + rng.standard_normal(400) > 0).astype(int)
y[:60] = 1 - y[:60]
models = [HTSVC(tol=1e-9).fit(data, y) for data in (X, sp.csr_matrix(X))]
coef = [np.append(m.coef_, m.intercept_).tolist() for m in models]
print(json.dumps({"kernels": kernels.backend(), "coef": coef}))
"""


def run_python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_show_versions(capsys):
    htsvm.show_versions()
    shown = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert shown["htsvm"] == htsvm.__version__
    assert shown["kernels"] in ("compiled", "numpy")
    assert int(shown["threads"]) >= 1
    assert {"python", "numpy", "scipy", "scikit-learn"} <= set(shown)


def test_everything_public_exists():
    for name in htsvm.__all__:
        assert hasattr(htsvm, name)


def test_import_is_light():
    # scikit-learn itself imports some of these where it finds them.
    code = """
import sys, sklearn.svm
before = set(sys.modules)
import htsvm, htsvm.cli, htsvm.plotting
added = set(sys.modules) - before
print(sorted(added & {"matplotlib", "pandas", "typer", "rich", "htsvm_paper"}))
"""
    assert run_python(code).strip() == "[]"


def test_numpy_kernels_give_the_same_model():
    compiled = json.loads(run_python(FIT, HTSVM_KERNELS=""))
    plain = json.loads(run_python(FIT, HTSVM_KERNELS="numpy"))
    assert plain["kernels"] == "numpy"
    np.testing.assert_allclose(compiled["coef"], plain["coef"], atol=1e-6)
    if compiled["kernels"] == "numpy":
        pytest.skip("the compiled kernels are not built: compared NumPy with itself")


def test_readme_example_gives_the_figures_it_shows(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    found = _shares(capsys.readouterr().out)
    promised = _shares(text)
    ours = {"HTLogisticRegressionCV", "HTSVCCV"}
    assert found.keys() == promised.keys() == {"LogisticRegression", *ours}
    for name, share in promised.items():
        assert found[name] == pytest.approx(share, abs=1)
    assert min(found[name] for name in ours) > found["LogisticRegression"] + 10


def _shares(text):
    lines = re.findall(r"^(\w+): (\d+)% of the test right$", text, flags=re.MULTILINE)
    return {name: int(share) for name, share in lines}


def test_readme_is_short_and_its_links_lead_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 75
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_readme_table_is_that_of_the_stored_figures():
    from benchmarks.readme import written_into

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert written_into(text) == text


def test_readme_opens_with_the_two_commands():
    top = (ROOT / "README.md").read_text(encoding="utf-8").split("##")[0]
    assert "make demo" in top
    assert "make test" in top


def test_changelog_and_citation_know_the_version():
    assert f"[{htsvm.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"version: {htsvm.__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_broken_compiler_does_not_stop_the_installation(tmp_path):
    source = tmp_path / "source"
    ignored = shutil.ignore_patterns(".*", "*.so", "*.c", "build", "*.egg-info", "tests")
    shutil.copytree(ROOT, source, ignore=ignored)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", str(tmp_path), str(source)],
        env={**os.environ, "CC": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (wheel,) = tmp_path.glob("htsvm-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "htsvm/linalg/_numpy.py" in names
    assert not [name for name in names if name.endswith((".so", ".pyd"))]


def test_the_oldest_releases_are_those_of_the_declaration():
    """Every lower bound of what the tests install is what `make test-oldest` installs."""
    project, paper = (
        tomllib.loads((ROOT / place / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for place in (".", "paper")
    )
    extras = project["optional-dependencies"]
    declared = {}
    groups = (project["dependencies"], paper["dependencies"], *(extras[e] for e in OLDEST_EXTRAS))
    for group in groups:
        for text in group:
            if not text.startswith("htsvm["):
                name, _, bound = re.sub(r"\[.*?\]", "", text).partition(">=")
                declared[name] = Version(bound)
    lines = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert declared.keys() - pinned.keys() <= {"pyscipopt", "playwright", "pillow"}
    pinned.pop("statsmodels")  # not ours, but of the time of its user
    assert {name: Version(text) for name, text in pinned.items()} == {
        name: bound for name, bound in declared.items() if name in pinned
    }


def test_the_types_hold_from_outside(tmp_path):
    mypy = pytest.importorskip("mypy.api")
    out, err, code = mypy.run(
        ["--strict", "--ignore-missing-imports", "--config-file", os.devnull,
         "--cache-dir", str(tmp_path), str(ROOT / "tests" / "typed_client.py")]
    )  # fmt: skip
    assert code == 0, out + err


def test_read_only_site_packages(tmp_path):
    """Nothing is written beside the modules, not even bytecode."""
    package = tmp_path / "site"
    ignored = shutil.ignore_patterns("__pycache__", "*.c", "*.pyx")
    shutil.copytree(ROOT / "src" / "htsvm", package / "htsvm", ignore=ignored)
    before = sorted(package.rglob("*"))
    for path in (package, *before):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        shown = run_python(FIT, PYTHONPATH=str(package), PYTHONDONTWRITEBYTECODE="1")
        assert json.loads(shown)["coef"]
        assert sorted(package.rglob("*")) == before
    finally:
        for path in (package, *before):
            path.chmod(0o755)


def test_citation_has_what_a_citation_needs():
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "version", "license", "authors"} <= cited.keys()
    assert cited["preferred-citation"]["title"].startswith("Robust and sparse support vector")
