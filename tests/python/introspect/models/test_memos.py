"""Classes that remember for a key, and those that generation writes to."""

from __future__ import annotations

from typing import Any

import pytest

from devsan.introspect.models.memos import is_memo


class InTest:
    def get(self, key):
        if key not in self.tables:
            self.tables[key] = self.make(key)
        return self.tables[key]


class WithGet:
    def get(self, key):
        found = self.tables.get(key)
        if found is None:
            found = self.tables[key] = self.make(key)
        return found


class ReturnsBefore:
    def get(self, key):
        if key in self.tables:
            return self.tables[key]
        table = self.make(key)
        self.tables[key] = table
        return table


class CatchesKeyError:
    def get(self, key):
        try:
            return self.tables[key]
        except KeyError:
            self.tables[key] = self.make(key)
        return self.tables[key]


class KeysAndValues:
    def update(self, layer, keys):
        if layer not in self.cache:
            self.cache[layer] = keys
        else:
            self.cache[layer] = self.join(self.cache[layer], keys)
        return self.cache[layer]


class Preallocated:
    def update(self, layer, place, keys):
        if layer not in self.cache:
            self.cache[layer] = self.make(keys)
        self.cache[layer][:, place] = keys


class InPlace:
    def update(self, layer, place, keys):
        if layer not in self.cache:
            self.cache[layer] = self.make(keys)
        self.cache[layer].index_copy_(0, place, keys)


class AskedForAnotherThing:
    def update(self, layer, keys, mask=None):
        if mask is not None:
            return self.masked(layer, keys, mask)
        self.cache[layer] = keys
        return keys


class Grows:
    def append(self, keys):
        self.cache.append(keys)


@pytest.mark.parametrize("kind", [InTest, WithGet, ReturnsBefore, CatchesKeyError])
def test_a_memo_stores_where_the_key_is_missing(kind: type[Any]) -> None:
    assert is_memo(kind)


@pytest.mark.parametrize("kind", [KeysAndValues, Preallocated, InPlace, AskedForAnotherThing, Grows])
def test_generation_writes_to_what_is_there(kind: type[Any]) -> None:
    assert not is_memo(kind)


def test_caches_of_transformers_are_none():
    from transformers.cache_utils import DynamicCache, StaticLayer

    assert not is_memo(DynamicCache)
    assert not is_memo(StaticLayer)
