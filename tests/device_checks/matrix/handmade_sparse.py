"""Calls that make sparse tensors of their members, or check them: strided operands all."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from .entries import Entry, aten, entry, longs, rand


def members() -> Iterator[Entry]:
    places = longs(0, 1).view(1, 2)
    yield entry(aten.sparse_coo_tensor.indices, places, rand(2))
    yield entry(aten.sparse_coo_tensor.indices_size, places, rand(2), [3])
    yield entry(aten._sparse_coo_tensor_unsafe.default, places, rand(2), [3])
    yield entry(aten._validate_sparse_coo_tensor_args.default, places, rand(2), [3])
    compressed, plain = longs(0, 1, 2), longs(0, 1)
    for layout, overload in (("csr", "crow_col_value"), ("csc", "ccol_row_value")):
        constructor = getattr(aten, f"sparse_{layout}_tensor")
        yield entry(
            getattr(constructor, overload), compressed, plain, rand(2), layout=getattr(torch, f"sparse_{layout}")
        )
        yield entry(getattr(constructor, f"{overload}_size"), compressed, plain, rand(2), [2, 2],
                    layout=getattr(torch, f"sparse_{layout}"))  # fmt: skip
        yield entry(getattr(aten, f"_sparse_{layout}_tensor_unsafe").default, compressed, plain, rand(2), [2, 2])
        yield entry(getattr(aten, f"_validate_sparse_{layout}_tensor_args").default, compressed, plain, rand(2), [2, 2])
    for layout, overload in (("bsr", "crow_col_value"), ("bsc", "ccol_row_value")):
        constructor = getattr(aten, f"sparse_{layout}_tensor")
        blocks = rand(2, 1, 1)
        yield entry(
            getattr(constructor, overload), compressed, plain, blocks, layout=getattr(torch, f"sparse_{layout}")
        )
        yield entry(getattr(constructor, f"{overload}_size"), compressed, plain, blocks, [2, 2],
                    layout=getattr(torch, f"sparse_{layout}"))  # fmt: skip
        yield entry(getattr(aten, f"_sparse_{layout}_tensor_unsafe").default, compressed, plain, blocks, [2, 2])
        yield entry(getattr(aten, f"_validate_sparse_{layout}_tensor_args").default, compressed, plain, blocks, [2, 2])
    csr = torch.sparse_csr
    yield entry(aten.sparse_compressed_tensor.comp_plain_value, compressed, plain, rand(2), layout=csr)
    yield entry(aten.sparse_compressed_tensor.comp_plain_value_size, compressed, plain, rand(2), [2, 2], layout=csr)
    yield entry(aten._sparse_compressed_tensor_unsafe.default, compressed, plain, rand(2), [2, 2], layout=csr)
    yield entry(aten._validate_sparse_compressed_tensor_args.default, compressed, plain, rand(2), [2, 2], csr)
    yield entry(aten._validate_compressed_sparse_indices.default, True, compressed, plain, 2, 2, 2)
