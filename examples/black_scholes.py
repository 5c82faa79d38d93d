"""European option prices: the textbook formula with the special cases that real code has.

Black and Scholes, "The Pricing of Options and Corporate Liabilities", Journal of Political Economy 81 (1973).
"""

import math


def normal_cdf(x: float) -> float:
    """The standard normal distribution function."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def call_price(spot: float, strike: float, years: float, rate: float, sigma: float) -> float:
    """What a European call is worth today; prices in one currency, `rate` and `sigma` per year."""
    if spot <= 0.0:
        return 0.0
    if years <= 0.0:  # expired: what exercising gives
        return max(spot - strike, 0.0)
    forward_strike = strike * math.exp(-rate * years)
    if sigma <= 0.0 or strike <= 0.0:  # nothing left to chance
        return max(spot - forward_strike, 0.0)
    spread = sigma * math.sqrt(years)
    d1 = math.log(spot / forward_strike) / spread + 0.5 * spread
    d2 = d1 - spread
    return spot * normal_cdf(d1) - forward_strike * normal_cdf(d2)


def option_price(spot: float, strike: float, years: float, rate: float, sigma: float, is_put: bool) -> float:
    """A call or, by put-call parity, a put."""
    price = call_price(spot, strike, years, rate, sigma)
    if not is_put:
        return price
    parity = price - spot + strike * math.exp(-rate * max(years, 0.0))
    return max(parity, 0.0)
