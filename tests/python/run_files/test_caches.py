"""Caches of transformers are marked while a run is recorded, and work as without."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from devsan.run_files.caches import Caches  # noqa: E402


@pytest.fixture
def watched() -> Iterator[None]:
    caches = Caches()
    yield
    caches.end()


def test_every_form_of_the_call_is_taken(watched: None) -> None:
    one = torch.ones(1, 2, 3, 4)
    cache = transformers.DynamicCache()
    cache.update(one, one, 0)
    cache.update(one, one, layer_idx=0)
    keys, _ = cache.update(key_states=one, value_states=one, layer_idx=0)
    assert keys.shape == (1, 2, 9, 4)


def test_what_is_compiled_has_no_call_of_the_core(watched: None) -> None:
    def keys(one: torch.Tensor) -> torch.Tensor:
        return transformers.DynamicCache().update(one, one, 0)[0] + 1

    one = torch.ones(1, 2, 3, 4)
    assert torch.equal(torch.compile(keys, backend="eager", fullgraph=True)(one), one + 1)
