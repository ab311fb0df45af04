"""A tree of tokens that is fed to a model in one forward: positions, attention mask, and keeping a path of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import Cache


@dataclass(frozen=True, slots=True)
class TokenTree:
    """Tokens that continue one text: token i follows token ``parents[i]`` < i, or the text itself where that is -1. A
    chain is (-1, 0, 1, ...). Raises ValueError for a parent that does not come first."""

    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        if not all(-1 <= parent < node for node, parent in enumerate(self.parents)):
            raise ValueError(f"not a tree: {self.parents}")

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def depths(self) -> list[int]:
        """The distance of each token from the end of the text, 0 for one right after it."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(0 if parent < 0 else depths[parent] + 1)
        return depths

    def is_path(self, nodes: Sequence[int]) -> bool:
        """Whether ``nodes`` are tokens that follow one another, the first of them the text."""
        inside = all(0 <= node < len(self) for node in nodes)
        return inside and all(self.parents[node] == parent for parent, node in zip((-1, *nodes), nodes, strict=False))

    def mask(self, start: int, dtype: torch.dtype, device: torch.device) -> Tensor:
        """Additive attention mask [1, 1, n, start + n] after a text of ``start`` tokens. 0 for the text, a token's
        ancestors and itself, the lowest number of ``dtype`` elsewhere. (A bool mask is silently wrong under eager
        attention.)"""
        visible = torch.eye(len(self), dtype=torch.bool)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                visible[node] |= visible[parent]
        mask = torch.zeros(1, 1, len(self), start + len(self), dtype=dtype, device=device)
        mask[..., start:].masked_fill_(~visible.to(device), torch.finfo(dtype).min)
        return mask


def keep_rows(cache: Cache, start: int, rows: Sequence[int]) -> None:
    """Move the keys and values at ``start`` + each of the ascending ``rows`` to ``start``, ``start`` + 1, ..."""
    if list(rows) == list(range(len(rows))):
        return
    for layer in cache.layers:
        index = start + torch.tensor(rows, device=layer.keys.device)
        for states in (layer.keys, layer.values):
            states[:, :, start : start + len(rows)] = states.index_select(2, index)
