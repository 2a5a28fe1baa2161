"""Units as text: "N m", "rad/s", "m/s^2", "1" if dimensionless and "" if unknown."""

from collections.abc import Mapping


def _factors(unit: str) -> dict[str, float]:
    """Exponents of a unit's symbols: "N m/s^2" is N^1 m^1 s^-2."""
    if "(" in unit:
        return {unit: 1.0}
    exponents: dict[str, float] = {}
    for sign, part in zip((1, -1), unit.split("/"), strict=False):
        for symbol in part.split():
            base, _, n = symbol.partition("^")
            if base != "1":
                exponents[base] = exponents.get(base, 0.0) + sign * float(n or 1)
    return exponents


def _written(factors: Mapping[str, float]) -> str:
    def part(sign: int) -> str:
        powers = [(base, sign * n) for base, n in factors.items() if sign * n > 0]
        return " ".join(base if n == 1 else f"{base}^{n:g}" for base, n in powers)

    above, below = part(1), part(-1)
    return f"{above or '1'}/{below}" if below else above or "1"


def power(unit: str, exponent: float) -> str:
    """The unit of a power: the square of "m/s" has "m^2/s^2"; "" if unknown."""
    if not unit or not isinstance(exponent, int | float):
        return ""
    return _written({base: n * exponent for base, n in _factors(unit).items()})


def times(a: str, b: str) -> str:
    """The unit of a product; "" if either is unknown."""
    if not a or not b:
        return ""
    factors = _factors(a)
    for base, n in _factors(b).items():
        factors[base] = factors.get(base, 0.0) + n
    return _written(factors)
