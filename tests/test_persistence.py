from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from htsvm import HTSVC, HTSVCCV, KernelHTSVC, KernelHTSVCCV, MultiViewHTSVC, baselines
from htsvm.multiview import MultiViewHTSVCCV
from htsvm.persistence import TRUSTED_TYPES, register_onnx_converters
from htsvm.solvers import ADMM

VIEWS = {"a": 2, "b": 2}
MODELS = [
    HTSVC(),
    HTSVC(multi_class="ovr"),
    HTSVC(solver=ADMM(penalty=2.0)),
    HTSVCCV(Cs=[0.1, 1.0], cv=3),
    KernelHTSVC(),
    KernelHTSVCCV(Cs=[1.0], cv=3),
    MultiViewHTSVC(views=VIEWS),
    MultiViewHTSVCCV(views=VIEWS, Cs=[1.0], cv=3),
    baselines.HingeSVC(),
    baselines.RampSVC(),
    baselines.LeastSquaresSVC(),
]


@pytest.fixture(params=[2, 3], ids=["two classes", "three classes"])
def data(request):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4)), np.arange(90) % request.param
    X[:, 0] += 2 * y
    return X.astype(np.float32), y


def fitted(model, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_skops_with_the_list_of_trusted_types(model, data):
    sio = pytest.importorskip("skops.io")
    model = fitted(make_pipeline(StandardScaler(), model), data)
    same = sio.loads(sio.dumps(model), trusted=TRUSTED_TYPES)
    np.testing.assert_array_equal(same.decision_function(data[0]), model.decision_function(data[0]))


def test_joblib(data, tmp_path):
    joblib = pytest.importorskip("joblib")
    model = fitted(HTSVC(), data)
    joblib.dump(model, tmp_path / "model.joblib")
    same = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(same.predict(data[0]), model.predict(data[0]))
    assert str(same.certificate_[0]) == str(model.certificate_[0])


def test_mlflow(data, tmp_path):
    mlflow = pytest.importorskip("mlflow.sklearn", reason="needs mlflow")
    model = fitted(HTSVC(), data)
    mlflow.save_model(model, tmp_path / "model")
    same = mlflow.load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(same.predict(data[0]), model.predict(data[0]))


@pytest.mark.parametrize("words", [False, True], ids=["numbers", "words"])
@pytest.mark.parametrize("kind", [HTSVC, baselines.HingeSVC], ids=lambda kind: kind.__name__)
def test_onnx(kind, words, data):
    skl2onnx = pytest.importorskip("skl2onnx", reason="needs skl2onnx")
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    X, y = data
    y = np.array(["zero", "one", "two"])[y] if words else y
    register_onnx_converters()
    model = fitted(make_pipeline(StandardScaler(), kind()), (X, y))
    onnx = skl2onnx.to_onnx(model, X[:1])
    session = runtime.InferenceSession(onnx.SerializeToString(), providers=["CPUExecutionProvider"])
    label, scores = session.run(None, {session.get_inputs()[0].name: X})
    expected = model.decision_function(X).reshape(len(X), -1)
    np.testing.assert_allclose(scores, expected, atol=1e-4)
    clear = np.abs(expected).max(axis=1) > 1e-3
    np.testing.assert_array_equal(label[clear], model.predict(X)[clear])


def test_onnx_refuses_labels_that_it_does_not_have(data):
    skl2onnx = pytest.importorskip("skl2onnx", reason="needs skl2onnx")
    register_onnx_converters()
    model = fitted(HTSVC(), (data[0], data[1].astype(float)))
    with pytest.raises(ValueError, match=r"whole numbers or texts, but classes_ is \[0\.0, 1\.0"):
        skl2onnx.to_onnx(model, data[0][:1])
