"""Losses are never understated: held against direct sums over the noise's own law."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpframe.budget.loss import Loss
from dpframe.budget.terms import Bounded, Laplace
from dpframe.errors import ParameterError

scales = st.fractions(min_value=Fraction(1, 4), max_value=40, max_denominator=100)
orders = st.fractions(min_value=Fraction(101, 100), max_value=60, max_denominator=100)
epsilons = st.fractions(min_value=Fraction(1, 10**6), max_value=20, max_denominator=10**6)
losses = st.one_of(
    st.builds(
        lambda scale, moved: Loss.laplace(scale=scale, l1_sensitivity=moved),
        scales,
        st.integers(1, 5),
    ),
    st.builds(
        lambda sigma, moved: Loss.gaussian(sigma=sigma, l2_squared_sensitivity=moved),
        scales,
        st.integers(1, 5),
    ),
    st.builds(Loss.pure, epsilons),
    st.builds(Loss.approximate, epsilons, st.just("1e-7")),
)


def laplace_divergence(scale: Fraction, shift: int, order: Fraction) -> Decimal:
    """Sum P^a Q^(1-a) over the integers at 80 digits, cut where the tail is far below 1e-40."""
    with localcontext() as context:
        context.prec = 80
        b, a = _decimal(scale), _decimal(order)
        reach = int(200 * scale) + shift + 200
        q = (-1 / b).exp()
        norm = (1 - q) / (1 + q)
        total = sum(
            (-(a * abs(k) + (1 - a) * abs(k - shift)) / b).exp() for k in range(-reach, reach + 1)
        )
        return (total * norm).ln() / (a - 1)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


@settings(max_examples=15, deadline=None)
@given(st.fractions(Fraction(1, 4), 6, max_denominator=20), st.integers(1, 4), orders)
def test_laplace_renyi_loss_is_the_divergence_of_its_own_law(scale, shift, order):
    direct = Fraction(laplace_divergence(scale, shift, order))
    charged = Loss.laplace(scale=scale, l1_sensitivity=shift).renyi(order)
    assert direct * (1 - Fraction(1, 10**20)) <= charged <= direct * (1 + Fraction(1, 10**20))


@settings(max_examples=50, deadline=None)
@given(scales, st.integers(2, 4), orders)
def test_a_laplace_vector_loses_most_when_one_coordinate_moves(scale, moved, order):
    alone = Loss.laplace(scale=scale, l1_sensitivity=moved).renyi(order)
    for split in _partitions(moved):
        spread = sum((Loss.laplace(scale=scale, l1_sensitivity=s) for s in split), Loss.none())
        assert spread.renyi(order) <= alone * (1 + Fraction(1, 10**25))


def _partitions(total: int) -> list[tuple[int, ...]]:
    parts = itertools.chain.from_iterable(
        itertools.combinations_with_replacement(range(1, total + 1), n) for n in range(1, total + 1)
    )
    return [part for part in parts if sum(part) == total]


@settings(deadline=None)
@given(epsilons, orders)
def test_pure_renyi_loss_is_that_of_randomized_response(epsilon, order):
    with localcontext() as context:
        context.prec = 80
        e, a = _decimal(epsilon), _decimal(order)
        p = e.exp() / (1 + e.exp())
        moment = (a * p.ln() + (1 - a) * (1 - p).ln()).exp()
        moment += (a * (1 - p).ln() + (1 - a) * p.ln()).exp()
        direct = Fraction(moment.ln() / (a - 1))
    charged = Loss.pure(epsilon).renyi(order)
    assert direct * (1 - Fraction(1, 10**20)) <= charged <= direct * (1 + Fraction(1, 10**20))


@settings(deadline=None)
@given(epsilons, orders)
def test_rho_bounds_the_renyi_loss_at_every_order(epsilon, order):
    loss = Loss.pure(epsilon)
    assert loss.renyi(order) <= order * loss.rho * (1 + Fraction(1, 10**25))
    assert loss.rho <= epsilon**2 / 2 or epsilon < Fraction(1, 10**5)


@settings(deadline=None)
@given(epsilons)
def test_rho_of_a_pure_release_is_epsilon_tanh_half_epsilon_and_no_less(epsilon):
    with localcontext() as context:
        context.prec = 80
        e = _decimal(epsilon)
        true = Fraction(e * (e.exp() - 1) / (e.exp() + 1))
    rho = Loss.pure(epsilon).rho
    assert true * (1 - Fraction(1, 10**60)) <= rho <= true * (1 + Fraction(1, 10**25))
    # ... and no smaller rho would do: the order tends to 1.
    near_one = Loss.pure(epsilon).renyi(Fraction(1000001, 1000000))
    assert near_one >= rho * (1 - Fraction(1, 1000))


@settings(deadline=None)
@given(scales, st.integers(1, 40), orders)
def test_rho_of_laplace_bounds_its_renyi_loss_at_every_order(scale, moved, order):
    loss = Loss.laplace(scale=scale, l1_sensitivity=moved)
    assert loss.renyi(order) <= order * loss.rho * (1 + Fraction(1, 10**25))
    assert loss.rho <= Loss.pure(loss.epsilon).rho * (1 + Fraction(1, 10**25))
    # ... and no smaller rho would do: the order tends to 1.
    near_one = loss.renyi(Fraction(10**9 + 1, 10**9))
    assert near_one >= loss.rho * (1 - Fraction(1, 1000))


@settings(max_examples=15, deadline=None)
@given(st.fractions(Fraction(1, 4), 6, max_denominator=20), st.integers(1, 6))
def test_rho_of_laplace_is_the_mean_privacy_loss_of_its_own_law(scale, moved):
    with localcontext() as context:
        context.prec = 80
        b = _decimal(scale)
        q = (-1 / b).exp()
        reach = int(200 * scale) + moved + 200
        mean = sum(
            (-Decimal(abs(k)) / b).exp() * (abs(k - moved) - abs(k))
            for k in range(-reach, reach + 1)
        )
        direct = Fraction(mean * (1 - q) / (1 + q) / b)
    rho = Loss.laplace(scale=scale, l1_sensitivity=moved).rho
    assert direct * (1 - Fraction(1, 10**20)) <= rho <= direct * (1 + Fraction(1, 10**20))


def test_rho_of_fine_grained_laplace_is_that_of_the_continuous_law():
    fine = Loss.laplace(scale=Fraction(10**9), l1_sensitivity=10**9)
    assert float(fine.rho) == pytest.approx(math.exp(-1), rel=1e-8)  # epsilon + e^-epsilon - 1


@settings(max_examples=30, deadline=None)
@given(losses, orders)
def test_renyi_loss_of_laplace_never_exceeds_the_worst_case_of_its_epsilon(loss, order):
    if loss.epsilon != math.inf:
        worst = Loss.pure(loss.epsilon).renyi(order)
        assert loss.renyi(order) <= worst * (1 + Fraction(1, 10**25))
        assert loss.renyi(order) <= loss.epsilon


@pytest.mark.parametrize("epsilon", ["1e-30", "1e-300", "1e6", "1e12", "1e100"])
@pytest.mark.parametrize("order", ["1.000001", "2", "1e6", "1e12"])
def test_extreme_losses_are_still_bounds(epsilon, order):
    order, loss = Fraction(order), Loss.pure(epsilon)
    assert 0 < loss.renyi(order) <= loss.epsilon
    assert 0 < loss.rho <= loss.epsilon
    laplace = Loss.laplace(scale=1 / Fraction(epsilon), l1_sensitivity=1)
    assert 0 < laplace.renyi(order) <= laplace.epsilon == loss.epsilon


def test_gaussian_renyi_loss_bounds_the_divergence_of_the_discrete_gaussian():
    for sigma, shift, order in itertools.product((0.4, 1.0, 7.5), (1, 3), (1.1, 2.0, 9.0)):
        ks = range(-400, 401)
        norm = sum(math.exp(-(k**2) / (2 * sigma**2)) for k in ks)
        exponents = [-(order * k**2 + (1 - order) * (k - shift) ** 2) / (2 * sigma**2) for k in ks]
        top = max(exponents)
        moment = sum(math.exp(x - top) for x in exponents) / norm
        direct = (top + math.log(moment)) / (order - 1)
        loss = Loss.gaussian(sigma=Fraction(str(sigma)), l2_squared_sensitivity=shift**2)
        assert direct <= float(loss.renyi(Fraction(str(order)))) + 1e-9


@given(losses, losses, losses, st.integers(0, 5))
@settings(max_examples=50, deadline=None)
def test_losses_compose_by_adding_up(a, b, c, times):
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + Loss.none() == a
    assert times * a == sum([a] * times, Loss.none())
    assert hash(a + b) == hash(b + a)
    assert (a + b).rho == a.rho + b.rho
    assert (a + b).delta == a.delta + b.delta
    assert (a + b).renyi(Fraction(3)) == a.renyi(Fraction(3)) + b.renyi(Fraction(3))


@given(losses, losses)
@settings(max_examples=50, deadline=None)
def test_losses_survive_being_written_down(a, b):
    loss = a + 3 * b
    assert Loss.from_json(loss.to_json()) == loss


@pytest.mark.parametrize(
    "text",
    [
        '{"rho":"-1"}',
        '{"laplace":[["-5/2",1,1]]}',
        '{"laplace":[["5/2",-1,1]]}',
        '{"laplace":[["5/2",1,-1]]}',
        '{"bounded":[["-1","0",1]]}',
        '{"bounded":[["1","2",1]]}',
        '{"bounded":[["1","0",0]]}',
        '{"refund":"1"}',
        '{"rho": "1"}',
        "[]",
        "1",
    ],
)
def test_text_that_no_loss_writes_is_refused(text):
    with pytest.raises((ParameterError, ValueError, AttributeError, TypeError)):
        Loss.from_json(text)


def test_a_negative_loss_cannot_be_made():
    with pytest.raises(ParameterError, match="give privacy back"):
        Loss(concentrated=Fraction(-1))
    with pytest.raises(ParameterError, match="give privacy back"):
        Loss(((Bounded(Fraction(1), Fraction(0)), -1),))
    with pytest.raises(ParameterError):
        Laplace(Fraction(-1), 1)
    with pytest.raises(TypeError):
        -1 * Loss.pure(1)


def test_group_privacy_of_pure_and_gaussian_losses():
    assert Loss.pure("0.1").for_group(3).epsilon == Fraction(3, 10)
    gaussian = Loss.gaussian(sigma=Fraction(10), l2_squared_sensitivity=1)
    assert gaussian.for_group(3).rho == 9 * gaussian.rho
    assert gaussian.for_group(3) == Loss.gaussian(sigma=Fraction(10), l2_squared_sensitivity=9)
    laplace = Loss.laplace(scale=Fraction(10), l1_sensitivity=2)
    assert laplace.for_group(3) == Loss.laplace(scale=Fraction(10), l1_sensitivity=6)
    with pytest.raises(ParameterError):
        laplace.for_group(0)


@settings(max_examples=50, deadline=None)
@given(st.fractions(0, 3, max_denominator=100), st.integers(1, 8))
def test_group_privacy_adds_the_delta_up_along_the_path(epsilon, k):
    delta = Fraction(1, 10**9)
    group = Loss.approximate(epsilon, delta).for_group(k)
    along = sum(math.exp(i * float(epsilon)) for i in range(k)) * 1e-9
    assert group.epsilon == k * epsilon
    assert math.isclose(float(group.delta), min(1, along), rel_tol=1e-9)


def test_group_privacy_keeps_each_delta_with_its_own_epsilon():
    loss = Loss.pure(5) + Loss.approximate("0.1", "1e-9")
    assert loss.for_group(2).delta < Fraction("2.2e-9")


def test_a_groups_delta_is_at_most_one():
    assert Loss.approximate(10, "0.5").for_group(1000).delta == 1
    assert Loss.approximate(10**7, "1e-9").for_group(2).delta == 1


def test_losses_read_well():
    assert str(Loss.laplace(scale=Fraction(5), l1_sensitivity=1)) == "epsilon 0.2"
    assert str(Loss.zcdp("0.01")) == "rho 0.01"
    assert str(Loss.approximate("0.2", "1e-6")) == "epsilon 0.2, delta 1e-6"
    assert str(Loss.pure("1/3")) == "epsilon 0.3334"
    assert str(Loss.none()) == "nothing"
    assert str(Loss.laplace(scale=Fraction(1), l1_sensitivity=0)) == "nothing"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Loss.laplace(scale=Fraction(0), l1_sensitivity=1),
        lambda: Loss.laplace(scale=Fraction(1), l1_sensitivity=-1),
        lambda: Loss.laplace(scale=Fraction(1), l1_sensitivity=0.5),
        lambda: Loss.laplace(scale=Fraction(1), l1_sensitivity=True),
        lambda: Loss.gaussian(sigma=Fraction(-1), l2_squared_sensitivity=1),
        lambda: Loss.pure(0),
        lambda: Loss.pure(math.inf),
        lambda: Loss.zcdp(-1),
        lambda: Loss.approximate(-1, "1e-6"),
        lambda: Loss.approximate(1, 0),
        lambda: Loss.approximate(1, 2),
        lambda: Loss.pure(1).renyi(Fraction(1)),
    ],
)
def test_losses_outside_their_domain_are_refused(make):
    with pytest.raises(ParameterError):
        make()
