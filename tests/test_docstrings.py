"""Docstrings stand alone: every parameter has a type, a default and a meaning."""

import inspect
import re

import pytest

import htsvm
import htsvm.baselines
import htsvm.multiview
from htsvm import ht_path

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
