"""Colours as numbers: how well one stands out from another, and what is left of them with two kinds of cones."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from textual.color import Color

Vector = NDArray[np.float64]

# Machado, Oliveira and Fernandes 2009, severity 1.0, for linear RGB.
SIGHT: dict[str, Vector] = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(rgb: Sequence[int]) -> Vector:
    """sRGB of 0…255 as light, 0…1."""
    c: Any = np.asarray(rgb, dtype=float) / 255
    light: Vector = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return light


def contrast(a: Sequence[int], b: Sequence[int]) -> float:
    """WCAG 2 contrast ratio, 1…21."""
    light, dark = sorted((float(_TO_XYZ[1] @ linear(a)), float(_TO_XYZ[1] @ linear(b))), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def apart(a: Color, b: Color, sight: str) -> float:
    """The distance of two colours in CIE L*a*b* (a just noticeable one is about 2.3)."""
    first, second = (_lab(np.clip(SIGHT[sight] @ linear(color.rgb), 0, 1)) for color in (a, b))
    return float(np.linalg.norm(first - second))


def _lab(light: Vector) -> Vector:
    x, y, z = (np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in _TO_XYZ @ light / _WHITE)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])
