"""Prices: European options, the volatility that a price implies, an income tax."""

from __future__ import annotations

import math

RATE = 0.02


def normal_cdf(x: float) -> float:
    """The polynomial 26.2.17 of Abramowitz and Stegun."""
    size = abs(x)
    k = 1.0 / (1.0 + 0.2316419 * size)
    series = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.3989422804014327 * math.exp(-0.5 * size * size) * series
    if x > 0.0:
        return 1.0 - tail
    return tail


def black_scholes(side: float, spot: float, strike: float, years: float, volatility: float) -> float:
    """A call (side > 0) or a put."""
    if years <= 0.0:
        if side > 0.0:
            return max(spot - strike, 0.0)
        return max(strike - spot, 0.0)
    spread = volatility * math.sqrt(years)
    d1 = (math.log(spot / strike) + (RATE + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    discounted = strike * math.exp(-RATE * years)
    if side > 0.0:
        return spot * normal_cdf(d1) - discounted * normal_cdf(d2)
    return discounted * normal_cdf(-d2) - spot * normal_cdf(-d1)


def implied_volatility(price: float, spot: float, strike: float, years: float) -> float:
    """Newton's method on the volatility of a call, by bisection where a step leaves the bracket; -1.0 for a price
    that no volatility gives."""
    discounted = strike * math.exp(-RATE * years)
    if price <= max(spot - discounted, 0.0) or price >= spot:
        return -1.0
    low = 1e-4
    high = 5.0
    guess = 0.3
    root = math.sqrt(years)
    for _ in range(40):
        spread = guess * root
        d1 = (math.log(spot / strike) + (RATE + 0.5 * guess * guess) * years) / spread
        error = spot * normal_cdf(d1) - discounted * normal_cdf(d1 - spread) - price
        if abs(error) < 1e-7:
            break
        if error > 0.0:
            high = guess
        else:
            low = guess
        vega = spot * root * 0.3989422804014327 * math.exp(-0.5 * d1 * d1)
        if vega > 1e-8:
            guess = guess - error / vega
        if vega <= 1e-8 or guess <= low or guess >= high:
            guess = 0.5 * (low + high)
    return guess


BRACKETS = ((0.0, 0.10), (11_000.0, 0.12), (44_725.0, 0.22), (95_375.0, 0.24), (182_100.0, 0.32), (231_250.0, 0.35),
            (578_125.0, 0.37))


def income_tax(income: float, spouse_income: float, married: float, children: float) -> float:
    """Brackets, a deduction, splitting, a child credit that is phased out."""
    total = income + spouse_income if married > 0.5 else income
    deduction = 27_700.0 if married > 0.5 else 13_850.0
    taxable = total - deduction
    if taxable <= 0.0:
        return 0.0
    if married > 0.5:
        taxable = taxable / 2.0
    tax = 0.0
    for i in range(len(BRACKETS)):
        start, share = BRACKETS[i]
        if taxable <= start:
            break
        end = BRACKETS[i + 1][0] if i + 1 < len(BRACKETS) else taxable
        tax += (min(taxable, end) - start) * share
    if married > 0.5:
        tax = tax * 2.0
    limit = 400_000.0 if married > 0.5 else 200_000.0
    credit = 2_000.0 * children
    if total > limit:
        credit = max(credit - 50.0 * math.ceil((total - limit) / 1_000.0), 0.0)
    return max(tax - credit, 0.0)
