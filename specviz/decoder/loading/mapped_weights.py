"""Weights and the files they are mapped from: how much of those is in memory, and when it comes there.

transformers maps a file of weights as a whole, until every tensor is read. Tensors of the host that stay as they are
stored are parts of that mapping: they take no memory beside it, and come there when they are first computed with. All
others are made out of it, and meanwhile as much of the file as has been read counts as memory of the process beside
them: half as much again where bfloat16 becomes float32.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor
from transformers import modeling_utils

STORED = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
"""The dtypes weights stay in, by their names in a file."""
PAGE = 4096
"""Bytes, of the smallest page that memory comes in."""


@contextmanager
def mapped_singly(kept: torch.dtype | None) -> Iterator[None]:
    """Let tensors that transformers reads come into memory as it counts them: those stored in ``kept``, which stay, out
    of one mapping, the others out of one each that is gone when something else has been made of the tensor.

    A version of transformers that opens files in another way reads them in its own."""
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
    """Stands in for an open file of weights."""

    def __init__(self, kept: torch.dtype | None, file: str, **how: Any) -> None:
        self._kept = kept
        self._reopened = partial(safe_open, file, **how)
        self._file: Any = self._reopened()

    def get_slice(self, name: str) -> Any:
        whole = self._file.get_slice(name)
        stays = STORED.get(whole.get_dtype(), self) is self._kept
        return _Kept(whole) if stays else _Passing(whole, name, self._reopened)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.__exit__(kind, error, traceback)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _Slice:
    """A tensor of a file that has not been read yet."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)


class _Kept(_Slice):
    def __getitem__(self, where: Any) -> Tensor:
        tensor: Tensor = self._whole[where]
        if tensor.is_contiguous():
            tensor.flatten().view(torch.uint8)[::PAGE].sum()
        return tensor


class _Passing(_Slice):
    def __init__(self, whole: Any, name: str, reopened: partial[Any]) -> None:
        super().__init__(whole)
        self._name, self._reopened = name, reopened

    def __getitem__(self, where: Any) -> Tensor:
        with self._reopened() as file:
            tensor: Tensor = file.get_slice(self._name)[where]
        return tensor
