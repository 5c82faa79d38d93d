"""Kepler's equation M = E - e sin E, solved by a bounded Newton iteration."""

import math

ITERATIONS = 12
TOLERANCE = 1e-14


def eccentric_anomaly(mean: float, eccentricity: float) -> float:
    """E in radians for a mean anomaly in [-pi, pi] and an eccentricity in [0, 1)."""
    if eccentricity == 0.0:
        return mean
    guess = mean if eccentricity < 0.8 else math.copysign(math.pi, mean)
    for _ in range(ITERATIONS):
        step = (guess - eccentricity * math.sin(guess) - mean) / (1.0 - eccentricity * math.cos(guess))
        guess -= step
        if abs(step) < TOLERANCE:
            break
    return guess


def true_anomaly(mean: float, eccentricity: float) -> float:
    """The angle in radians between the direction of the periapsis and the body, seen from the focus."""
    anomaly = eccentric_anomaly(mean, eccentricity)
    return 2.0 * math.atan2(
        math.sqrt(1.0 + eccentricity) * math.sin(anomaly / 2.0),
        math.sqrt(1.0 - eccentricity) * math.cos(anomaly / 2.0),
    )
