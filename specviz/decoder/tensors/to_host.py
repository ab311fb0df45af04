"""Numbers from the device to the host, all of a round's in one go."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor


def fetch(parts: Mapping[str, Tensor]) -> dict[str, Any]:
    """``parts``, of any shapes and of numbers that a float64 can hold, as nested lists under the same names.

    They are on one device, and it is waited for once.
    """
    flat = torch.cat([part.flatten().double() for part in parts.values()]).cpu().numpy()
    found, start = {}, 0
    for name, part in parts.items():
        end = start + part.numel()
        values = flat[start:end].reshape(part.shape)
        found[name] = (values if part.is_floating_point() else values.astype(_kind(part))).tolist()
        start = end
    return found


def _kind(part: Tensor) -> type:
    return np.bool_ if part.dtype == torch.bool else np.int64
