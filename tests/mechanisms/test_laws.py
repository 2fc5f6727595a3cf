"""Draws against their exact laws, on every path through the code."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpframe.errors import ParameterError
from dpframe.mechanisms import DiscreteGaussian, DiscreteLaplace, Source, cuts, gaussian, lanes

LAWS = [DiscreteLaplace, DiscreteGaussian]
SCALES = [
    Fraction(1, 4),
    Fraction(1, 2),
    Fraction(1),
    Fraction(7, 3),
    Fraction(10),
    Fraction(1001, 2),
    Fraction(10**7),
    Fraction(2**31 - 1),
    Fraction(2**31 + 1),
    Fraction(10**12),
    Fraction(2**57 - 1),
]


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("law", LAWS)
def test_draws_follow_their_law_into_the_tails(stream, fit, law, scale):
    law = law(scale)
    draws = law.draw(200_000, stream(51))
    assert draws.dtype == np.int64
    assert fit(law, draws) > 1e-3


@pytest.mark.parametrize(
    "scale", [Fraction(1, 2), Fraction(7, 3), Fraction(10**7), Fraction(2**80)]
)
@pytest.mark.parametrize("law", LAWS)
def test_single_draws_follow_the_same_law(stream, fit, law, scale):
    law, source = law(scale), stream(52)
    draws = np.array([law.draw(1, source)[0] for _ in range(12_000)])
    assert fit(law, draws) > 1e-3


@pytest.mark.parametrize("n", [7, 30])
@pytest.mark.parametrize("law", LAWS)
def test_short_batches_follow_the_same_law(stream, fit, law, n):
    law, source = law(Fraction(3, 2)), stream(53)
    draws = np.concatenate([law.draw(n, source) for _ in range(12_000 // n)])
    assert fit(law, draws) > 1e-3


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(40), Fraction(10**12)])
@pytest.mark.parametrize("law", LAWS)
def test_draws_follow_their_law_when_every_word_ties(stream, fit, law, scale, monkeypatch):
    short = cuts.Table(8)
    monkeypatch.setattr(lanes, "table", lambda: short)
    law = law(scale)
    assert fit(law, law.draw(8000, stream(54))) > 1e-3


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(40), Fraction(10**12)])
@pytest.mark.parametrize("law", LAWS)
def test_draws_follow_their_law_when_no_product_is_decided(stream, fit, law, scale, monkeypatch):
    law = law(scale)
    monkeypatch.setattr(law._sizes, "_decided", lanes.word(0))
    # A fraction of exactly 0 is still decided; whole scales have it only at a size of 0.
    assert fit(law, law.draw(20_000, stream(55))) > 1e-3


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(40), Fraction(10**12)])
def test_draws_follow_their_law_when_no_exponent_is_decided(stream, fit, sigma, monkeypatch):
    monkeypatch.setattr(gaussian, "_ABOVE", lanes.integer(2**62))
    monkeypatch.setattr(gaussian, "_BELOW", lanes.integer(-(2**62)))
    monkeypatch.setattr(gaussian, "_BELOW_CELL", lanes.integer(-(2**62)))
    law = DiscreteGaussian(sigma)
    assert fit(law, law.draw(12_000, stream(56))) > 1e-3


@pytest.mark.usefixtures("one_bit_words")
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(4, 3)])
@pytest.mark.parametrize("law", LAWS)
def test_the_probability_of_each_value_is_exact(explore, law, scale):
    # Every string of random bits is enumerated, so this is a proof up to what is left. Attempts
    # are repeated until one succeeds: all that matters is that each value's chance in one attempt
    # is the same multiple of its weight.
    law, s = law(scale), float(scale)
    found, left = explore(law._attempt, 12_000)
    assert left < Fraction(1, 4)
    multiple = -math.expm1(-1 / s) / 2
    if isinstance(law, DiscreteGaussian):
        multiple *= math.exp(((law._nearest / s - 1) ** 2 - 1) / 2)
    for z in range(-4, 5):
        weight = math.exp(-abs(z) / s if law == DiscreteLaplace(scale) else -((z / s) ** 2) / 2)
        low = float(found.get(z, Fraction(0)))
        assert low - 1e-12 <= multiple * weight <= low + float(left) + 1e-12


@pytest.mark.parametrize(
    "scale", [Fraction(10**9), Fraction(2**31), Fraction(2**45), Fraction(2**57 - 1)]
)
@pytest.mark.parametrize("law", LAWS)
def test_the_low_bits_of_large_noise_are_noise_too(stream, law, scale):
    # Noise that left the low bits of a value alone would show them.
    draws = law(scale).draw(100_000, stream(50))
    for shift in (0, 8, 16):
        low = draws >> shift & 15
        assert stats.chisquare(np.bincount(low, minlength=16)).pvalue > 1e-3


@pytest.mark.parametrize(
    "sigma", [Fraction(1, 2), Fraction(3, 2), Fraction(10**3), Fraction(2**50, 3)]
)
def test_acceptance_is_exact_next_to_its_threshold(sigma):
    law = DiscreteGaussian(sigma)

    class Residue(Source):
        """Gives a lane these digits after its cell, and zeros from there on."""

        def __init__(self, digits: int) -> None:
            self._digits = digits

        def words(self, count):
            assert count == 1
            return np.array([self._digits | 1 << 45], dtype=np.uint64)  # no open coin

        def take(self, count):
            return bytes(count)

    m = law._nearest
    for size in {0, m + 1, math.ceil(2 * sigma), math.ceil(5 * sigma)}:
        exponent = ((size - sigma) ** 2 - (m - sigma) ** 2) / (2 * sigma**2)
        at = math.floor(exponent * 2**53)
        for off in (0, 1, 2, 2**8, 2**30, 2**34, 2**36, 2**38, 2**40, 2**44):
            for digits in {max(0, at - off), at + off}:
                cell = digits >> 45
                word = np.array([([0, *cuts.table().cuts])[cell] + 1], dtype=np.uint64)
                source = Residue(digits & ((1 << 45) - 1))
                accepted = law._accepted(np.array([size]), {}, word, source)
                assert accepted[0] == (Fraction(digits, 2**53) >= exponent)


@pytest.mark.parametrize("scale", [0.5, 10.0, 1e6])
@pytest.mark.parametrize("law", LAWS)
def test_draws_agree_with_those_of_opendp(stream, law, scale):
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    n = 20_000
    if law is DiscreteLaplace:
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
        theirs = dp.m.make_laplace(*space, scale=scale)([0] * n)
    else:
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
        theirs = dp.m.make_gaussian(*space, scale=scale)([0] * n)
    ours = law(Fraction(scale)).draw(n, stream(57))
    edges = np.unique(np.quantile(ours, np.linspace(0.001, 0.999, 60)))
    table = [
        np.bincount(np.searchsorted(edges, x), minlength=len(edges) + 1) for x in (ours, theirs)
    ]
    filled = np.array(table)[:, np.sum(table, axis=0) >= 10]
    # OpenDP takes no seed: a level this low makes a false alarm a matter of centuries.
    assert stats.chi2_contingency(filled).pvalue > 1e-8


@pytest.mark.parametrize("law", LAWS)
def test_draws_are_independent_of_their_neighbours(stream, law):
    draws = law(Fraction(3)).draw(200_000, stream(58))
    pairs = np.clip(draws[:-1:2], -3, 3) + 3, np.clip(draws[1::2], -3, 3) + 3
    counts = np.bincount(7 * pairs[0] + pairs[1], minlength=49).reshape(7, 7)
    assert stats.chi2_contingency(counts).pvalue > 1e-3


@pytest.mark.parametrize("law", LAWS)
def test_sign_and_size_are_independent(stream, law):
    draws = law(Fraction(5)).draw(200_000, stream(59))
    draws = draws[draws != 0]
    counts = np.array(
        [np.bincount(np.minimum(abs(x), 12)) for x in (draws[draws > 0], draws[draws < 0])]
    )
    assert stats.chi2_contingency(counts[:, 1:]).pvalue > 1e-3


@pytest.mark.parametrize("law", LAWS)
def test_the_least_scale_adds_no_noise_in_practice(stream, law):
    least = law(Fraction(1, 1024))
    assert not least.draw(50_000, stream(60)).any()
    assert least.draw(3, stream(60)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("n", [0, 1, 6, 7, 1000, 40_000])
@pytest.mark.parametrize("law", LAWS)
def test_as_many_draws_come_back_as_were_asked_for(stream, law, n):
    for scale in (Fraction(1, 4), Fraction(9), Fraction(2**60)):
        if n <= 1000 or scale < 2**57:
            assert law(scale).draw(n, stream(61)).shape == (n,)


class Far(Source):
    """Sends lane 0 far into the tail, and the others where a stream sends them."""

    def __init__(self, stream: Source, times: int) -> None:
        self._stream, self._times = stream, times

    def take(self, count: int) -> bytes:
        data = self._stream.take(count)
        if self._times and (count == 8 or count > 256):
            self._times -= 1
            return b"\xff" * 8 + data[8:]
        return data


@pytest.mark.parametrize("scale", [Fraction(2**56), Fraction(4 * 10**17, 3)])
def test_a_draw_beyond_64_bits_is_widened_and_never_wraps(stream, scale):
    # Each all-ones word moves lane 0 on by 32 scales: after eight it is beyond int64.
    draws = DiscreteLaplace(scale).draw(500, Far(stream(62), 8))
    assert draws.dtype == object
    assert all(type(z) is int for z in draws.tolist())
    assert 256 * scale <= abs(draws[0]) < 300 * scale
    assert abs(draws[0]) > 2**63
    assert max(abs(z) for z in draws[1:]) < 32 * scale


def test_a_wide_lane_of_a_gaussian_is_decided_by_exact_integers(stream):
    law = DiscreteGaussian(Fraction(2**56))
    sizes = np.array([0, 5, 2**56], dtype=np.int64)
    wide = {0: 2**70}
    accepted = law._accepted(sizes, wide, stream(63).words(3), stream(64))
    assert not accepted[0]  # its acceptance probability is exp(-10**8)
    assert accepted[2]  # the nearest integer to sigma is always accepted
    # An exponential beyond every cut accepts whatever a lane can hold, but not 100 sigma.
    ones = np.full(3, (1 << 64) - 1, dtype=np.uint64)
    assert law._accepted(sizes, {}, ones, stream(65)).all()
    assert not law._accepted(sizes, {1: 100 * 2**56}, ones, stream(65))[1]


@pytest.mark.parametrize("law", LAWS)
def test_scales_beyond_64_bits_give_python_integers(stream, law):
    draws = law(Fraction(2**150)).draw(50, stream(66))
    assert draws.dtype == object
    assert max(map(abs, draws.tolist())) > 2**140


@pytest.mark.parametrize("law", LAWS)
def test_values_of_any_size_are_added_exactly(stream, law):
    law = law(Fraction(1000))
    values = [2**63 - 1, -(2**63), 10**40, 0, 7, -1, 2**64, 3]
    noise = law.draw(len(values), stream(67)).tolist()
    noisy = law.add(values, stream(67))
    assert noisy == [v + z for v, z in zip(values, noise, strict=True)]
    assert all(type(v) is int for v in noisy)


def test_values_in_narrow_arrays_do_not_wrap(stream):
    values = np.full(100, 127, dtype=np.int8)
    noisy = DiscreteLaplace(Fraction(1000)).add(values, stream(68))
    assert max(noisy) > 127
    assert all(type(v) is int for v in noisy)


def test_noise_can_be_silenced_by_a_test_and_by_nothing_else(stream, monkeypatch):
    monkeypatch.setattr(
        DiscreteLaplace, "draw", lambda self, n, source: np.zeros(n, dtype=np.int64)
    )
    assert DiscreteLaplace(Fraction(10**9)).add([1, 2], stream(69)) == [1, 2]


@pytest.mark.parametrize("values", [[1.0], [1, None], "12", [Fraction(1)], np.array([0.5])])
def test_values_that_are_not_integers_are_refused_unquoted(stream, values):
    with pytest.raises(ParameterError, match="not integers") as caught:
        DiscreteLaplace(Fraction(1)).add(values, stream(70))
    assert caught.value.__context__ is None


@pytest.mark.parametrize("n", [-1, 1.0, True, "3", None])
def test_a_bad_number_of_draws_is_refused(stream, n):
    with pytest.raises(ParameterError, match="n is"):
        DiscreteLaplace(Fraction(1)).draw(n, stream(71))
