"""The small fixed part of the campaign, and tests that the oracles can complain."""

import warnings

import numpy as np
import pytest

from htsvm import HTSVC
from tests.fuzz import campaign, oracles
from tests.fuzz.cases import Case, draw
from tests.fuzz.oracles import judge
from tests.fuzz.reference import Loss, Side, sides
from tests.fuzz.shrink import as_test, shrink

# The stream of the tests, and how many of its cases each test takes.
STREAM, PER_TEST = 2026, 8


@pytest.mark.parametrize("block", range(6))
def test_hostile_problems(block):
    wrong = []
    for number in range(PER_TEST * block, PER_TEST * (block + 1)):
        case = draw(STREAM, number)
        if case.X.size > 2000 or case.params.get("solver") == "admm":
            continue
        outcome = judge(case, campaign.relations_of(case, number))
        if outcome.wrong or outcome.valley:
            wrong.append((number, str(case), outcome.complaints))
    assert not wrong


@pytest.fixture
def case():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 3))
    return Case(X, (X[:, 0] + 0.5 * rng.normal(size=30) > 0.0).astype(int), params={"C": 2.0})


class Spoiled:
    """Makes a case whose model is changed after its fit."""

    def __init__(self, monkeypatch, change):
        fit = oracles.fit

        def spoiled(one):
            outcome = fit(one)
            change(outcome.model)
            return outcome

        monkeypatch.setattr(oracles, "fit", spoiled)


def _times(factor):
    def change(model):
        model.coef_ = factor * model.coef_
        model.intercept_ = factor * model.intercept_

    return change


def _other_objective(model):
    model.objective_ = 1.01 * model.objective_


def _no_multipliers(model):
    model.dual_coef_ = 0.0 * model.dual_coef_


@pytest.mark.parametrize(
    ("change", "oracle"),
    [
        (_times(100.0), "constant"),
        (_times(3.0), "direction"),
        (_times(np.nan), "finite"),
        (_other_objective, "objective"),
        (_no_multipliers, "gap"),
    ],
)
def test_oracles_complain_of_spoiled_models(case, monkeypatch, change, oracle):
    assert not judge(case).complaints
    Spoiled(monkeypatch, change)
    assert oracle in judge(case).complaints


def test_multipliers_of_one_class_prove_nothing(case, monkeypatch):
    convex = case.changed(params={"cap": np.inf})
    assert not judge(convex).complaints

    def one_sided(model):
        model.dual_coef_ = np.maximum(model.dual_coef_, 0.0)

    Spoiled(monkeypatch, one_sided)
    assert "gap" in judge(convex).complaints


@pytest.mark.parametrize("relation", list(oracles.RELATIONS))
def test_twins_are_compared(case, monkeypatch, relation):
    weighted = case.changed(weights=np.arange(30.0) % 3)
    assert not judge(weighted, [relation]).complaints
    fits = []

    def worse(model):
        fits.append(model)
        if len(fits) == 2:
            _other_objective(model)

    Spoiled(monkeypatch, worse)
    assert f"twin {relation}" in judge(weighted, [relation]).complaints


def test_an_exception_is_a_complaint(case):
    assert "crash" in judge(case.changed(params={"solver": object()})).complaints or (
        "refused" in judge(case.changed(params={"solver": object()})).complaints
    )
    assert judge(case.changed(y=np.zeros(30, dtype=int))).verdict == "refused"


def test_slow_fits_are_given_up(case, monkeypatch):
    def endless(*args, **options):
        while True:
            pass

    monkeypatch.setattr(oracles, "PATIENCE", 0.05)
    monkeypatch.setattr(HTSVC, "fit", endless)
    assert judge(case).slow


def test_shrinking_keeps_what_fails(case):
    def fails(one):
        return len(one.y) >= 4 and one.X.shape[1] >= 2

    small = shrink(case.changed(form="csr", weights=np.full(30, 2.0)), fails)
    assert small.X.shape == (4, 2)
    assert small.form == "dense"
    assert small.weights is None


def test_a_case_prints_as_a_test(case):
    small = case.changed(params={"cap": np.inf})
    names = {"np": np, "Case": Case, "judge": judge}
    exec(as_test(small, "gap", ("order",), "text"), names)
    names["test_htsvc_gap"]()


def test_the_table_is_resumed(tmp_path):
    table, failures = tmp_path / "results.csv", tmp_path / "failures.txt"
    for expected in (0, 2):
        first = campaign.next_number(table, 5)
        assert first == expected
        tallies, after = campaign.run(5, first, 1.0, 2, failures)
        campaign.append(table, 5, first, after, tallies, "now")
    assert campaign.next_number(table, 6) == 0
    last = campaign.summary(table).splitlines()[-1].split()
    assert last[:2] == ["all", "4"]
    assert len(campaign.summary(table, since=6).splitlines()) == 1


def test_the_reference_knows_the_losses():
    q = np.array([-1.0, 0.0, 1.0 / 3.0, 2.0 / 3.0, 0.8, 1.0, 3.0])
    paper = np.array([0.0, 0.0, 0.4, 0.8, 0.928, 1.0, 1.0])
    np.testing.assert_allclose(Loss("hybrid", 1.0)(q), paper, atol=1e-12)
    np.testing.assert_allclose(Loss("ramp", 2.0)(q), np.clip(q, 0.0, 2.0))
    np.testing.assert_allclose(Loss("pinball", tau=0.5)(q), np.maximum(q, -0.5 * q))
    step = 1e-6
    for loss in (Loss("hybrid", 1.0), Loss("hybrid", 2.5, 0.3), Loss("ramp", 2.0)):
        at = np.array([0.1, 0.5, 0.9, 1.7, 2.2, 4.0])
        slope = (loss(at + step) - loss(at - step)) / (2.0 * step)
        np.testing.assert_allclose(loss.derivative(at), slope, atol=1e-6)


def test_the_reference_knows_the_constant(case):
    side = sides(case)[0]
    assert isinstance(side, Side)
    positive = int(np.sum(case.y))
    assert side.constant() == pytest.approx(2.0 * min(positive, 30 - positive))


def test_dask_twins():
    """Blocks of a Dask array are fitted like the array."""
    da = pytest.importorskip("dask.array")
    tried = 0
    for number in range(200, 400):
        case = draw(STREAM, number)
        if case.estimator != "HTSVC" or case.form != "dense" or len(case.y) < 8:
            continue
        if {"solver", "multi_class"} & set(case.params) or len(np.unique(case.y)) > 2:
            continue
        local = oracles.fit(case)
        rows = len(case.y) // 2 + 1
        X, y = da.from_array(case.X, chunks=(rows, -1)), da.from_array(case.y, chunks=rows)
        weights = None if case.weights is None else da.from_array(case.weights, chunks=rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = case.model().fit(X, y, sample_weight=weights)
        if local.verdict == "certified" and model.certificate_[0].certified:
            assert model.objective_[0] == pytest.approx(local.model.objective_[0], rel=2e-3), case
            tried += 1
        if tried == 8:
            return


def test_problems_with_many_rows():
    """There are enough rows for a search on a sample of them."""
    cases = [draw(STREAM, number, many=True) for number in range(30)]
    assert sum(len(case.y) > 7500 for case in cases) >= 15
    small = min(cases, key=lambda case: case.X.size)
    assert len(small.y) > 4000
    assert not judge(small, ("names", "again")).complaints
