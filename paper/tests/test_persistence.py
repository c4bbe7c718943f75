"""Stored rivals: skops with the list of trusted types, and the converter to ONNX."""

import warnings

import numpy as np
import pytest

from htsvm import persistence
from htsvm_paper import TRUSTED_TYPES, baselines

MODELS = [
    getattr(baselines, name)(**({} if name.endswith("SVC") else {"views": [2, 2]}))
    for name in baselines.__all__
]


@pytest.fixture(params=[2, 3], ids=["two classes", "three classes"])
def data(request):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4)), np.arange(90) % request.param
    X[:, 0] += 2 * y
    return X.astype(np.float32), y


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_skops_with_the_list_of_trusted_types(model, data):
    sio = pytest.importorskip("skops.io")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = model.fit(*data)
    trusted = [*persistence.TRUSTED_TYPES, *TRUSTED_TYPES]
    same = sio.loads(sio.dumps(model), trusted=trusted)
    np.testing.assert_array_equal(same.decision_function(data[0]), model.decision_function(data[0]))


def test_onnx_converts_further_linear_classifiers(data):
    skl2onnx = pytest.importorskip("skl2onnx", reason="needs skl2onnx")
    persistence.register_onnx_converters(baselines.PinballSVC)
    assert skl2onnx.to_onnx(baselines.PinballSVC().fit(*data), data[0][:1])
