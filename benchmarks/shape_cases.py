"""Operators that view, index, join, or work through lists of tensors."""

from __future__ import annotations

from operands import Operands, Works, functional, torch_


def views(o: Operands) -> Works:
    x, many = o.x, o.four.repeat(8, 1)
    return {
        "view": lambda: x.view(4),
        "reshape": lambda: x.reshape(4),
        "transpose": lambda: x.transpose(0, 1),
        "permute": lambda: x.permute(1, 0),
        "t": lambda: x.t(),
        "expand": lambda: x.expand(3, 2, 2),
        "unsqueeze": lambda: x.unsqueeze(0),
        "squeeze": lambda: x.squeeze(),
        "select": lambda: x[0],
        "slice": lambda: x[:1],
        "slice two": lambda: x[:1, :1],
        "narrow": lambda: x.narrow(0, 0, 1),
        "as_strided": lambda: x.as_strided((4,), (1,)),
        "detach": lambda: x.detach(),
        "alias view_as": lambda: x.view_as(x),
        "diagonal": lambda: x.diagonal(),
        "unfold": lambda: x.unfold(0, 1, 1),
        "flatten": lambda: x.flatten(),
        "contiguous": lambda: x.contiguous(),
        "split": lambda: many.split(1),
        "split two": lambda: x.split(1),
        "chunk": lambda: x.chunk(2),
        "unbind": lambda: x.unbind(),
        "unbind eight": lambda: many.unbind(),
        "tensor_split": lambda: x.tensor_split(2),
    }


def indexing(o: Operands) -> Works:
    x, index, places = o.x, o.index, o.places
    z, y = o.z.clone(), o.y
    torch = torch_()
    return {
        "index": lambda: x[index],
        "index second": lambda: x[:, index],
        "index two": lambda: x[index, index],
        "index mask": lambda: x[o.mask],
        "index_select": lambda: x.index_select(0, index),
        "gather": lambda: x.gather(0, places),
        "take": lambda: x.take(index),
        "take_along_dim": lambda: x.take_along_dim(places, 0),
        "index_put_": lambda: z.index_put_((index,), y),
        "index_put_ second": lambda: z.__setitem__((slice(None), index), y),
        "index_put_ mask": lambda: z.__setitem__(o.mask, 0.0),
        "set item": lambda: z.__setitem__(0, 1.0),
        "scatter": lambda: x.scatter(0, places, y),
        "scatter_add_": lambda: z.scatter_add_(0, places, y),
        "scatter_reduce": lambda: x.scatter_reduce(0, places, y, "amax"),
        "index_add_": lambda: z.index_add_(0, index, y),
        "index_copy_": lambda: z.index_copy_(0, index, y),
        "index_fill_": lambda: z.index_fill_(0, index, 1.0),
        "masked_scatter": lambda: x.masked_scatter(o.mask, y),
        "bucketize": lambda: torch.bucketize(x, o.four),
        "tril": lambda: x.tril(),
        "roll": lambda: x.roll(1, 0),
        "flip": lambda: x.flip(0),
    }


def joins(o: Operands) -> Works:
    two, ten = [o.x, o.y], o.listed(10)
    hundred = o.listed(100)
    torch = torch_()
    return {
        "cat": lambda: torch.cat(two),
        "cat ten": lambda: torch.cat(ten),
        "cat hundred": lambda: torch.cat(hundred),
        "stack": lambda: torch.stack(two),
        "stack ten": lambda: torch.stack(ten),
        "hstack": lambda: torch.hstack(two),
        "repeat": lambda: o.x.repeat(2, 2),
        "repeat_interleave": lambda: o.x.repeat_interleave(2, 0),
        "tile": lambda: o.x.tile(2),
        "broadcast_tensors": lambda: torch.broadcast_tensors(o.x, o.scalar),
        "block_diag": lambda: torch.block_diag(*two),
        "cartesian_prod": lambda: torch.cartesian_prod(o.four, o.four),
        "pad": lambda: functional().pad(o.x, (1, 1)),
    }


def foreach(o: Operands) -> Works:
    torch = torch_()
    works: Works = {}
    for count in (1, 10, 100):
        first, second, third = (o.listed(count) for _ in range(3))
        works |= {
            f"add_ {count}": lambda a=first, b=second: torch._foreach_add_(a, b),
            f"mul {count}": lambda a=first: torch._foreach_mul(a, 1.0),
            f"addcdiv_ {count}": lambda a=first, b=second, c=third: torch._foreach_addcdiv_(c, a, b, 0.1),
            f"norm {count}": lambda a=first: torch._foreach_norm(a),
            f"lerp_ {count}": lambda a=first, b=second: torch._foreach_lerp_(a, b, 0.5),
            f"sqrt {count}": lambda b=second: torch._foreach_sqrt(b),
        }
    return works
