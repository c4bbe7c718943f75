"""Cases that the campaign found: each was wrong, silent or slow once."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from htsvm import HTSVC, KernelHTSVC
from htsvm.baselines import HingeSVC, RampSVC
from htsvm_paper.baselines import ZeroOneSVC
from tests.fuzz.cases import Case, draw
from tests.fuzz.oracles import fit, judge

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::htsvm.exceptions.IgnoredClassWarning"
)


def test_a_convex_solution_that_no_sample_feels_truncated_at_may_be_a_poor_minimum():
    """The hinge solution is constant and below the ceiling: other starts were not tried."""
    X = np.array([[0, 0], [2, 3], [-3, -2], [2, 3], [-2, -1], [3, -1], [-2, 2], [-2, -1.0]])
    model = RampSVC(C=5.0, ceiling=2.1).fit(X, [0, 1, 0, 0, 1, 1, 1, 1])
    assert model.objective_[0] < 22.1


def test_violations_carried_along_do_not_hide_the_objective():
    """The solver held 8.6e19 for less than 3e-11, and kept the point."""
    a, b, c = 3.23206940e2, 3.23208344e2, 6.1288165e6
    X = np.array([[a, a, b], [a, a, a], [a, a, a], [a, a, a], [a, c, 323.206848], [a, a, a]])
    weights = np.array([1e15, 1e15, 1.0, 1e-15, 1.0, 1e15])
    y = np.array([0, 0, 0, 1, 0, 0])
    model = HingeSVC(C=14829.0).fit(X, y, sample_weight=weights)
    certificate = model.certificate_[0]
    assert model.objective_[0] <= certificate.trivial_objective * (1.0 + 1e-6)


@pytest.mark.parametrize(
    ("X", "y", "weights", "params"),
    [
        (
            [[6e6, -1e2], [1e7, 4e1], [6e6, -8e1], [1e7, 0.0], [2e7, -4e1]],
            [1, 1, 0, 0, 0],
            None,
            {"C": 13.94, "knee": 0.3},
        ),
        (
            [[2.3e7, -2e3], [1.2e8, 2.8e3], [6.4e5, 5.4e2], [1e8, -1.3e3], [9.8e7, -1.4e3]],
            [1, 1, 0, 0, 0],
            [3.8, 0.37, 2.9, 3.4, 4.4],
            {"C": 29.2},
        ),
        (
            [[0.0, 1e6], [4e-2, 1e6], [0.5, 1e6], [0.5, 1e6], [1.0, 1e6]],
            [1, 0, 1, 1, 0],
            None,
            {"C": 20.0, "fit_intercept": False},
        ),
    ],
)
def test_what_a_search_has_found_is_not_lost_on_the_way_down(X, y, weights, params):
    weights = None if weights is None else np.array(weights)
    case = Case(np.array(X), np.array(y), weights, "HTSVC", params)
    outcome = judge(case)
    assert not outcome.complaints
    lowest = np.nanmin(list(outcome.model.starts_[0].values()))
    assert outcome.model.objective_[0] <= 1.002 * lowest


def test_zero_one_loss_without_an_intercept():
    """Satisfied samples of one class were taken for a constant classifier, which there is not."""
    X, y = np.array([[1.0, 0.2], [0.8, -0.1], [1.0, 0.1]]), np.array([1, 1, 0])
    model = ZeroOneSVC(C=50.0, fit_intercept=False).fit(X, y)
    assert model.score(X, y) == pytest.approx(2.0 / 3.0)
    assert model.objective_[0] < 60.0


def test_a_kernel_matrix_of_zeros():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = KernelHTSVC(kernel="linear").fit([[0.0], [0.0]], [0, 1])
    assert np.all(np.isfinite(model.decision_function([[0.0]])))


@pytest.mark.parametrize("C", [1e12, 1e20, 1e300])
def test_hard_margins_need_a_small_penalty(C):
    """Multipliers far below C were lost in rounding; the solver then crept for minutes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0.0).astype(int)
    model = HTSVC(C=C).fit(X, y)
    assert model.certificate_[0].certified
    assert model.score(X, y) == 1.0
    np.testing.assert_allclose(model.objective_, HTSVC(C=1e8).fit(X, y).objective_, rtol=1e-3)


def test_columns_of_far_apart_scales_in_one_margin():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(21, 60)) * 10.0 ** rng.uniform(-8.0, 8.0, size=60)
    y = (X[:, X.std(axis=0).argmax()] > 0.0).astype(int)
    model = HTSVC(C=50.0, starts=["convex"]).fit(X, y)
    assert model.history_["steps"][-1] < 1500
    assert model.score(X, y) == 1.0


def test_the_budget_ends_in_advice():
    """Classes with weights from 1e-3 to 1e3 on columns of many scales: once 51 seconds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 8)) * 10.0 ** rng.uniform(-2.0, 2.0, size=8)
    y = rng.integers(0, 6, size=40)
    weights = dict(enumerate(10.0 ** rng.uniform(-3.0, 3.0, size=6)))
    model = HTSVC(C=1e4, tol=1e-12, class_weight=weights, starts=["convex"])
    with pytest.warns(ConvergenceWarning, match="budget of|brought no progress"):
        model.fit(X, y)
    assert model.history_["steps"].sum() < 1000


def test_weights_that_span_many_orders():
    """The best constant was found by a subtraction that cancels."""
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    model = HTSVC(C=10).fit(X, y, sample_weight=[1e16, 1e16, 1.0, 1.0])
    # Both heavy samples on the margin, w = 2, and one of the light ones given up.
    assert model.objective_[0] == pytest.approx(12.0, rel=1e-6)
    assert model.certificate_[0].certified


def test_landmarks_that_the_kernel_maps_to_zero():
    """An error of a library about an empty array; a constant classifier is the answer."""
    X, y = np.array([[0.0], [0.0], [3.0], [0.0]]), [0, 0, 1, 1]
    found = [
        KernelHTSVC(kernel="poly", n_landmarks=1, random_state=seed).fit(X, y) for seed in range(4)
    ]
    assert any(len(model.landmarks_) == 0 for model in found)
    for model in found:
        assert model.objective_[0] <= 2.0 + 1e-9
        assert np.all(np.isfinite(model.decision_function(X)))


def test_zero_one_loss_never_above_the_convex_start():
    """The hard margin of the satisfied samples was lost in rounding, and kept."""
    X = np.array([[-6e3, 0], [0, 0], [0, 0], [-1e4, 0], [3e3, 0], [0, 5e5]])
    weights = np.array([3.0, 3e15, 3e15, 3.0, 3.0, 3e15])
    model = ZeroOneSVC(C=3.467002991680658e-07).fit(X, [1, 0, 0, 0, 0, 1], sample_weight=weights)
    assert model.objective_[0] <= model.certificate_[0].convex_objective * (1.0 + 1e-3)


@pytest.mark.parametrize(
    ("X", "y", "params", "objective"),
    [
        (
            # Penalties of 7e8 that can all be satisfied; the search gave up one of them.
            [[4, -3], [-1, 3], [10, -3], [-2, 0.4], [-100, -3], [-20, 9]],
            [0, 1, 1, 0, 0, 0],
            {"C": 7e8},
            0.307,
        ),
        (
            # One sample given up, not two: a direction that logistic regression finds.
            [[2.4e5, 360], [2.5e7, 360], [-1e8, 360], [-5.3e7, 360], [-1.1e9, 360], [5.9e7, 360]],
            [0, 0, 0, 1, 0, 1],
            {"C": 1e5},
            1.001e5,
        ),
        (
            # Far from the origin: the way along a direction needs its own intercept.
            [
                [179.86, 181.96], [179.36, 180.13], [178.25, 181.09], [190.28, 217.17],
                [180.11, 180.14],
            ],
            [1, 0, 0, 1, 1],
            {"C": 6.0},
            3.70,
        ),
        (
            # No sample feels the truncation at the convex solution, but there is a lower valley.
            [
                [3, 0, 0.2], [0, 1, 0], [0, 0.7, 0], [0, 0, 0],
                [0, 10, 0], [0.2, 0, 0], [8, 0, 0], [0.01, 0, 0.8],
            ],
            [1, 0, 0, 0, 0, 1, 1, 1],
            {"ceiling": 1.0, "C": 20.0},
            26.3,
        ),
    ],
)  # fmt: skip
def test_directions_of_other_classifiers_lead_no_lower(X, y, params, objective):
    kind = "RampSVC" if "ceiling" in params else "HTSVC"
    outcome = judge(Case(np.array(X, dtype=float), np.array(y), None, kind, params))
    assert not outcome.complaints
    assert outcome.model.objective_[0] <= objective


def test_a_saddle_between_two_valleys():
    """Three samples, two of them alike: the constant was kept where a slope is lower."""
    X, y = np.array([[3.0, 2.0], [3.0, 2.0], [2.0, 3.0]]), np.array([0, 1, 1])
    weights = np.array([4.0469, 1.3024, 847.15])
    case = Case(X, y, weights, "HTSVC", {"C": 0.2, "cap": 2.0})
    assert not judge(case).complaints
    assert HTSVC(**case.params).fit(X, y, sample_weight=weights).objective_[0] < 1.51


def test_copies_of_samples_of_one_column():
    """104 samples were sorted, 208 were not."""
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(size=(90, 1)) * (rng.random((90, 1)) < 0.3), 2)
    case = Case(x, (rng.random(90) < 0.4).astype(int), None, "HTSVC", {"C": 200.0, "cap": 1.1})
    assert not judge(case, ["copies"]).complaints


def test_little_data_end_no_higher_than_the_convex_solution():
    """A hard margin among others, which searches came only near: 0.04499 was certified."""
    u = 81.13571937202249
    X = u * np.array(
        [[0, 3, -1, 3], [0, 1, -1, 3], [0, -1, -1, -1], [0, 3, -3, 3], [0, -3, -3, 0],
         [0, 1, -1, 3], [0, 2, 1, -1.0]]
    )  # fmt: skip
    X[:, 0] = [
        -136.02049521403657, -101.94737784302171, -0.4669639504665355, -185.40840801690325,
        -61.61775460748055, -114.82923166292267, 30.015907345630215,
    ]  # fmt: skip
    model = HTSVC(C=0.013459692275002473, cap=2.3).fit(X, [1, 0, 1, 0, 0, 1, 0])
    assert model.objective_[0] < 1.005 * 0.0448


def test_wide_data_of_uneven_scale_is_compared_with_exact_least_squares():
    """Searches gave up samples that a ridge fit satisfies: 0.02 was certified, 6e-9 can be had."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (24, 400)) * 10.0 ** rng.uniform(-8.0, 8.0, size=400)
    weights = 10.0 ** rng.uniform(-4.0, 4.0, 24)
    case = Case(X, rng.integers(0, 2, 24), weights, "HTSVC", {"C": 0.1, "cap": 0.5}, "csc")
    assert not judge(case).complaints


def test_rounds_on_some_rows_do_not_lose_a_valley():
    """Margins far wider than the cap: a step moved rows across it that the round did not look at.

    One order of the rows ended at three times the objective of another.
    """
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20_000, 12))
    y = (X @ rng.normal(size=12) > 0.0) ^ (rng.random(20_000) < 0.05)
    turned = np.random.default_rng(len(y)).permutation(len(y))
    options = {"C": 1e7, "cap": 2.0, "fit_intercept": False, "starts": ["convex"]}
    found = [
        HTSVC(**options).fit(X[rows] + 3000.0, y[rows]).objective_[0]
        for rows in (np.arange(len(y)), turned)
    ]
    assert max(found) < 1.02 * min(found)


@pytest.mark.parametrize("starts", ["auto", ["least_squares"]])
def test_what_a_sample_of_the_rows_leads_to_is_not_lost_on_all_of_them(starts):
    """Few distinct rows, many copies: steps on some rows led up to the constant, at 398,536."""
    case = draw(920, 87, many=True)
    assert case.X.shape == (8765, 4)
    model = case.changed(params={"starts": starts}).model().fit(case.data(), case.labels())
    assert model.objective_[0] < 165_000.0


def test_a_finer_solution_does_not_leave_its_valley():
    """The certificate asked for a finer point at 15,832; the solver came back with 87,592."""
    case = draw(930, 59, many=True)
    outcome = fit(case)
    lowest = min(outcome.model.starts_[0].values())
    assert outcome.model.objective_[0] <= (1.0 + 1e-3) * lowest
    assert outcome.verdict == "certified"


def test_a_matrix_that_corrections_have_lost_is_formed_anew_on_the_right_rows():
    """An IndexError: the matrix shared by all rows was formed anew for some of them."""
    case = draw(930, 159, many=True)
    assert fit(case).verdict in ("certified", "warned")


def test_multipliers_between_knee_and_cap_belong_to_a_tangent_nearby():
    """An oracle was stricter than the promise: the objective is within 1 + tol of a tight fit."""
    case = draw(910, 143, many=True)
    assert case.params["tol"] == 1e-5
    outcome = judge(case)
    assert outcome.verdict == "certified"
    assert not outcome.complaints
    tight = fit(case.changed(params={"tol": 1e-8})).model
    assert outcome.model.objective_[0] <= (1.0 + 1e-5) * tight.objective_[0]


@pytest.mark.parametrize(("number", "lowest"), [(28, 39.4583), (71, 7.9e10)])
def test_where_searches_get_nowhere_near_the_solver_goes_its_own_way(number, lowest):
    """One column of huge size: quick searches ended at 20 and 3 times the minimum, all alike."""
    case = draw(960, number, many=True)
    model = HTSVC(**case.params).fit(case.X, case.y)
    assert model.objective_[0] <= 1.001 * lowest


def test_multipliers_below_the_rounding_of_their_penalty():
    """Weights from 1e-15 to 1e15 on the margin: the point is right, and the certificate says no."""
    outcome = judge(draw(1002, 5159))
    assert outcome.verdict in ("certified", "warned")
    assert not outcome.complaints
    certificate = outcome.model.certificate_[0]
    assert outcome.model.objective_[0] <= (1.0 + 1e-9) * certificate.trivial_objective


@pytest.mark.parametrize("cap", [1.0, np.inf])
def test_a_date_among_the_columns_of_several_classes(cap):
    """Seconds since 1970 on 500 rows: ties between classes by the thousand, 30 s and a constant."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    X[:, 2] = 1.7e9 + 1e6 * X[:, 2]
    outcome = fit(Case(X, y, None, "HTSVC", {"cap": cap}))
    assert not outcome.complaints
    assert outcome.model.score(X, y) > 0.95


@pytest.mark.parametrize("sample", [3_000_000, 10])
def test_line_searches_on_blocks_ask_few_questions(monkeypatch, sample):
    """Weights from 1e-15 to 1e15: 64,000 questions of searches that never found the scale."""
    dask = pytest.importorskip("dask")
    pytest.importorskip("dask.array")
    from htsvm.distributed.rows import Dataset

    asked, ask = [], Dataset.ask
    monkeypatch.setattr(Dataset, "ask", lambda *a, **k: asked.append(1) or ask(*a, **k))
    with dask.config.set({"htsvm.sample-values": sample}):
        outcome = fit(draw(1300, 1850).changed(form="dask"))
    assert outcome.verdict in ("certified", "warned")
    assert len(asked) < 200


def test_all_descents_to_the_zero_one_loss_share_a_budget(monkeypatch):
    """Some hundred descents with a budget each, on 53 rows with weights from 1e-15 to 1e15."""
    from htsvm.solvers import Newton

    steps, solve = [], Newton.solve

    def counted(self, problem, *, start=None):
        result = solve(self, problem, start=start)
        steps.append(result.history["steps"][-1] if result.history else 0)
        return result

    monkeypatch.setattr(Newton, "solve", counted)
    case = draw(1300, 2741)
    with pytest.warns(ConvergenceWarning):
        case.model().fit(case.data(), case.labels(), sample_weight=case.weights)
    assert 0 < sum(steps) < 3 * 20_000


@pytest.mark.parametrize("number", [144, 152, 219])
def test_many_rows_end_no_higher_than_a_multiple_of_least_squares(number):
    """Small caps and noise: searches from least squares went away from what was lower, by 52 %."""
    assert not judge(draw(1401, number, many=True)).complaints


def test_multipliers_are_balanced_before_a_gap_is_computed():
    """An oracle took a balance within 1e-11 for a gap: columns of 1e8, weights of 1e15."""
    case = draw(1400, 231)
    outcome = judge(case)
    assert outcome.verdict in ("certified", "warned")
    assert not outcome.complaints
    tight = fit(case.changed(params={"tol": 1e-6})).model
    assert outcome.model.objective_[0] <= (1.0 + 1e-2) * tight.objective_[0]
