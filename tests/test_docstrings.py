"""Docstrings stand alone: every parameter has a type, a default and a meaning."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import htsvm
import htsvm.baselines
import htsvm.multiview
from htsvm import _documented, ht_path

SOURCE = Path(htsvm.__file__).parent

PUBLIC = {
    name: getattr(module, name)
    for module in (htsvm, htsvm.baselines, htsvm.multiview)
    for name in module.__all__
}
ESTIMATORS = [
    kind
    for kind in PUBLIC.values()
    if inspect.isclass(kind) and hasattr(kind, "predict") and not inspect.isabstract(kind)
]


def entries(text):
    """Return the entries of the section of parameters, by name."""
    end = r"(?:\n\s*\n\s*[A-Z][\w ]+\n\s*-+\n|\Z)"
    section = re.search(r"Parameters\n\s*-+\n(.*?)" + end, text, re.S)
    found, names = {}, []
    for line in section[1].splitlines():
        head = re.match(r"^(\w[\w, ]*) : (.+)$", line)
        if head:
            names = [name.strip() for name in head[1].split(",")]
            found.update(dict.fromkeys(names, head[2]))
        elif names and line.strip():
            found.update({name: found[name] + " " + line.strip() for name in names})
    return found


@pytest.mark.parametrize("kind", [*ESTIMATORS, ht_path], ids=lambda kind: kind.__name__)
def test_every_parameter_is_described(kind):
    described = entries(inspect.getdoc(kind))
    for name, parameter in inspect.signature(kind).parameters.items():
        assert name in described, name
        text = described[name]
        assert not re.search(r"\bas for `", text, re.I), name
        has_default = parameter.default is not inspect.Parameter.empty
        assert not has_default or "default" in text or "optional" in text, name
        assert len(text.split()) > 4, name
        stated = re.search(r"default=(\([^)]*\)|[^\s,]+)", text)
        if stated and has_default:
            default = eval(stated[1], {"inf": np.inf})
            assert default == parameter.default, name


def test_every_shared_entry_is_used():
    text = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    assert [key for key in _documented._BY_NAME if f"{{{key}}}" not in text] == []


@pytest.mark.parametrize("kind", PUBLIC.values(), ids=PUBLIC)
def test_no_name_is_left_in_braces(kind):
    assert not re.search(r"^ *\{[\w ]+\}", kind.__doc__ or "", re.M)


def test_a_name_that_is_not_described_is_an_error():
    def unknown(tol=1e-3):
        """Do something.

        {tol}, {nonsense}
        """

    with pytest.raises(KeyError, match="nonsense"):
        _documented.documented(unknown)


def test_entries_have_the_margin_and_the_default_of_their_place():
    def fit(kernel="rbf", tol=0.5):
        """Fit.

        {tol}, {verbose of folds}
        {kernel of views}
        """

    heads = [line for line in _documented.documented(fit).__doc__.splitlines() if " : " in line]
    assert heads == [
        "        tol : float, default=0.5",
        "        verbose : int",
        '        kernel : {"linear", "rbf"} or callable, or list or dict of these, default="rbf"',
    ]


def test_python_without_docstrings():
    code = "import htsvm; assert htsvm.HTSVC.__doc__ is None; print(htsvm.HTSVCCV())"
    ended = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True)
    assert ended.stdout.strip() == "HTSVCCV()", ended.stderr
