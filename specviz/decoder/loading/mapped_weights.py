"""Reading memory-mapped weights so that a file never takes more memory than its tensors need.

transformers maps a file of weights as a whole until every tensor is read. Tensors on the host that keep their stored
dtype are parts of that mapping: they take no extra memory, and are read from disk when first used. All others are
copies, and until the end the part of the file already read counts as memory of the process too: half as much again
where bfloat16 becomes float32.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor
from transformers import modeling_utils

STORED = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
"""Dtypes that weights can be used in as stored, by their names in a file."""
PAGE = 4096
"""Bytes of the smallest memory page."""


@contextmanager
def map_per_tensor(kept: torch.dtype | None) -> Iterator[None]:
    """Change how transformers reads tensors inside. Those stored in ``kept`` share one mapping and are paged in
    immediately, so that progress is real; each other tensor gets a mapping that is closed once the tensor is converted.
    Changes nothing in a version of transformers that opens files in another way."""
    before = getattr(modeling_utils, "safe_open", None)
    if before is None:
        yield
        return
    modeling_utils.safe_open = partial(_File, kept)
    try:
        yield
    finally:
        modeling_utils.safe_open = before


class _File:
    """Replaces an open file of weights."""

    def __init__(self, kept: torch.dtype | None, file: str, **options: Any) -> None:
        self._kept = kept
        self._reopen = partial(safe_open, file, **options)
        self._file: Any = self._reopen()

    def get_slice(self, name: str) -> Any:
        whole = self._file.get_slice(name)
        stays = STORED.get(whole.get_dtype(), self) is self._kept
        return _StoredSlice(whole) if stays else _ConvertedSlice(whole, name, self._reopen)

    def __exit__(self, *error: Any) -> None:
        self._file.__exit__(*error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _Slice:
    """A tensor of a file, not yet read."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)


class _StoredSlice(_Slice):
    def __getitem__(self, index: Any) -> Tensor:
        tensor: Tensor = self._whole[index]
        if tensor.is_contiguous():
            tensor.flatten().view(torch.uint8)[::PAGE].sum()
        return tensor


class _ConvertedSlice(_Slice):
    def __init__(self, whole: Any, name: str, reopen: partial[Any]) -> None:
        super().__init__(whole)
        self._name, self._reopen = name, reopen

    def __getitem__(self, index: Any) -> Tensor:
        with self._reopen() as file:
            tensor: Tensor = file.get_slice(self._name)[index]
        return tensor
