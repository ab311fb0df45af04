"""Tiny models, made once; one thread, so that they are fast on a busy machine and the same on every one."""

from collections.abc import Iterator

import pytest
import torch
import transformers

from tests.decoder.models import Shelf

torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    yield Shelf(tmp_path_factory.mktemp("models"))
