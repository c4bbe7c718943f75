"""Saving models: what skops may trust, and a converter to ONNX."""

from __future__ import annotations

from typing import Any

from htsvm import baselines
from htsvm.logistic.cv import HTLogisticRegressionCV
from htsvm.logistic.regression import HTLogisticRegression, LogisticCertificate
from htsvm.multiview import (
    ColumnViews,
    MultiViewHTSVC,
    MultiViewHTSVCCV,
    columns_starting_with,
)
from htsvm.optimality.binary import BinaryCertificate
from htsvm.optimality.multiclass import MulticlassCertificate
from htsvm.solvers import ADMM, Newton
from htsvm.svm.cv import HTSVCCV
from htsvm.svm.htsvc import HTSVC
from htsvm.svm.kernel import KernelHTSVC
from htsvm.svm.kernel_cv import KernelHTSVCCV

LINEAR = (
    HTLogisticRegression,
    HTLogisticRegressionCV,
    HTSVC,
    HTSVCCV,
    baselines.HingeSVC,
    baselines.LeastSquaresSVC,
    baselines.RampSVC,
)
_KINDS: tuple[Any, ...] = (
    *LINEAR,
    KernelHTSVC,
    KernelHTSVCCV,
    MultiViewHTSVC,
    MultiViewHTSVCCV,
    ColumnViews,
    columns_starting_with,
    BinaryCertificate,
    MulticlassCertificate,
    LogisticCertificate,
    Newton,
    ADMM,
)

# Everything of ours that a saved model may hold: ``skops.io.load(file, trusted=TRUSTED_TYPES)``.
TRUSTED_TYPES: list[str] = sorted({f"{kind.__module__}.{kind.__qualname__}" for kind in _KINDS})


def register_onnx_converters(*kinds: type) -> None:
    """Teach skl2onnx to convert `HTSVC`, `HTSVCCV`, the linear baselines and `kinds`.

    After that ``skl2onnx.to_onnx(model, X[:1])`` works for these, alone and in a Pipeline. The
    outputs are the labels, and the scores of `decision_function` as a matrix with a column per
    class, or one column for two classes. Needs ``pip install skl2onnx``.

    Parameters
    ----------
    *kinds : type
        Further linear classifiers, for instance of another package.
    """
    from skl2onnx import update_registered_converter

    for kind in (*LINEAR, *kinds):
        update_registered_converter(kind, f"Htsvm{kind.__name__}", _shapes, _convert)


def _shapes(operator: Any) -> None:
    """Tell skl2onnx what comes out."""
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType

    model = operator.raw_operator
    rows = operator.inputs[0].get_first_dimension()
    text = model.classes_.dtype.kind in "USO"
    operator.outputs[0].type = StringTensorType([rows]) if text else Int64TensorType([rows])
    operator.outputs[1].type = FloatTensorType([rows, len(model.intercept_)])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Write scores = X W + b, and the label with the largest score."""
    from onnx import TensorProto

    model = operator.raw_operator
    if model.classes_.dtype.kind == "f":
        raise ValueError(
            f"ONNX labels are whole numbers or texts, but classes_ is {model.classes_.tolist()!r}."
        )
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    n_scores, n_features = coef.shape
    names = {key: scope.get_unique_variable_name(key) for key in (
        "coef", "intercept", "classes", "product", "two", "opposite", "place")}  # fmt: skip
    container.add_initializer(
        names["coef"], TensorProto.FLOAT, [n_features, n_scores], coef.T.ravel().tolist()
    )
    container.add_initializer(
        names["intercept"], TensorProto.FLOAT, [n_scores], model.intercept_.tolist()
    )
    text = model.classes_.dtype.kind in "USO"
    labels = [str(c).encode() if text else int(c) for c in model.classes_]
    kind = TensorProto.STRING if text else TensorProto.INT64
    container.add_initializer(names["classes"], kind, [len(labels)], labels)
    label, scores = operator.outputs[0].full_name, operator.outputs[1].full_name

    def node(kind: str, inputs: list[str], output: str, **attributes: Any) -> None:
        container.add_node(
            kind, inputs, output, name=scope.get_unique_operator_name(kind), op_version=13,
            **attributes,
        )  # fmt: skip

    node("MatMul", [operator.inputs[0].full_name, names["coef"]], names["product"])
    node("Add", [names["product"], names["intercept"]], scores)
    columns = scores
    if n_scores == 1:
        node("Neg", [scores], names["opposite"])
        node("Concat", [names["opposite"], scores], names["two"], axis=1)
        columns = names["two"]
    node("ArgMax", [columns], names["place"], axis=1, keepdims=0)
    node("Gather", [names["classes"], names["place"]], label, axis=0)
