"""Which package may import which: a list, read from left to right, and nothing private."""

import ast
import re
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

import htsvm

ROOT = Path(htsvm.__file__).parent
ORDER = ["losses", "linalg", "problems", "optimality", "solvers", "svm", "logistic", "multiview",
         "distributed", "baselines", "datasets", "audit", "plotting", "experiments"]  # fmt: skip
# Modules beside the packages that any of them may use.
SHARED = {
    "_documented",
    "_moved",
    "_sklearn",
    "_seeds",
    "_typing",
    "_version",
    "_show_versions",
    "exceptions",
    "files",
    "svg",
}


def imports():
    """Yield the file, the imported module and the imported name of every import of our own."""
    for path in sorted(ROOT.rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("htsvm"):
                for alias in node.names:
                    yield file, node.module, alias.name
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.startswith("htsvm"):
                        yield file, alias.name, ""


def package_of(file_or_module, separator):
    parts = file_or_module.split(separator)
    return parts[1 if separator == "." else 0] if len(parts) > 1 else ""


def crossing():
    for file, module, name in imports():
        ours = package_of(file, "/")
        theirs = package_of(module, ".") or name
        if ours and ours != theirs and theirs not in SHARED:
            yield file, module, name, ours, theirs


def test_every_package_has_its_place():
    assert {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()} <= set(ORDER)


def test_packages_import_from_the_left_only():
    wrong = {
        (file, theirs)
        for file, _, _, ours, theirs in crossing()
        if theirs in ORDER and ORDER.index(theirs) > ORDER.index(ours)
    }
    assert wrong == set()


def test_nothing_private_is_imported_across_packages():
    private = [
        (file, module, name)
        for file, module, name, _, theirs in crossing()
        if any(part.startswith("_") for part in [*module.split(".")[1:], name])
    ]
    assert private == []


@pytest.mark.parametrize(("first", "second"), list(pairwise(["losses", "linalg", "problems"])))
def test_the_lowest_packages_do_not_know_the_next(first, second):
    """Also not by an import at run time."""
    found = [file for file, _, _, ours, theirs in crossing() if (ours, theirs) == (first, second)]
    assert found == []


# -------------------------------------------------------------------- what others have written

# Names to import that differ from the names to install.
INSTALLED_AS = {"sklearn": "scikit-learn", "skimage": "scikit-image", "PIL": "pillow",
                "scikit_posthocs": "scikit-posthocs", "distributed": "dask"}  # fmt: skip
# Imported where they are installed, and declared by nobody: formats of other packages.
UNDECLARED = {"onnx", "skl2onnx"}
# Parts that have an extra of their own; all others make do with the dependencies.
WITH_EXTRAS = {"distributed", "plotting", "datasets", "audit", "cli.py", "persistence.py"}


def declared():
    """Return the names of the dependencies, and those of all extras as well."""
    project = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text())["project"]

    def names(requirements):
        return {re.match(r"[\w-]+", one)[0].lower() for one in requirements}

    extras = project["optional-dependencies"].values()
    return names(project["dependencies"]), names(one for extra in extras for one in extra)


def foreign():
    """Yield the part and the package of every import of what is neither ours nor Python's."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = []
            if isinstance(node, ast.ImportFrom):
                modules = [node.module or ""]
            elif isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            for module in modules:
                package = module.split(".")[0]
                if package not in sys.stdlib_module_names | {"htsvm", ""}:
                    part = path.relative_to(ROOT).parts[0]
                    yield part, INSTALLED_AS.get(package, package).lower(), path.name


def test_everything_that_is_imported_is_declared():
    core, extras = declared()
    assert {"joblib", "threadpoolctl"} <= core
    wrong = {
        (file, package)
        for part, package, file in foreign()
        if package not in (core | extras | UNDECLARED if part in WITH_EXTRAS else core)
    }
    assert wrong == set()
    assert core <= {package for _, package, _ in foreign()}
