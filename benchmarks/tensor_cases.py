"""Operators that make, copy, fill and read tensors; and one that is not aten's."""

from __future__ import annotations

from operands import Operands, Works, torch_


def factories(o: Operands) -> Works:
    torch = torch_()
    x, device = o.x, o.device
    return {
        "empty": lambda: torch.empty(4, device=device),
        "zeros": lambda: torch.zeros(4, device=device),
        "ones": lambda: torch.ones(4, device=device),
        "full": lambda: torch.full((4,), 1.0, device=device),
        "rand": lambda: torch.rand(4, device=device),
        "randn": lambda: torch.randn(4, device=device),
        "randint": lambda: torch.randint(4, (4,), device=device),
        "randperm": lambda: torch.randperm(4, device=device),
        "arange": lambda: torch.arange(4, device=device),
        "linspace": lambda: torch.linspace(0, 1, 4, device=device),
        "eye": lambda: torch.eye(2, device=device),
        "tensor": lambda: torch.tensor([1.0, 2.0], device=device),
        "empty_like": lambda: torch.empty_like(x),
        "zeros_like": lambda: torch.zeros_like(x),
        "ones_like": lambda: torch.ones_like(x),
        "full_like": lambda: torch.full_like(x, 1.0),
        "rand_like": lambda: torch.rand_like(x),
        "randn_like": lambda: torch.randn_like(x),
        "new_empty": lambda: x.new_empty(4),
        "new_zeros": lambda: x.new_zeros(4),
        "new_full": lambda: x.new_full((4,), 1.0),
        "new_tensor": lambda: x.new_tensor([1.0, 2.0]),
        "tril_indices": lambda: torch.tril_indices(2, 2, device=device),
        "scalar_tensor": lambda: torch.scalar_tensor(1.0, device=device),
        "empty_strided": lambda: torch.empty_strided((2, 2), (2, 1), device=device),
    }


def copies(o: Operands) -> Works:
    x, z = o.x, o.z.clone()
    return {
        "clone": lambda: x.clone(),
        "to dtype": lambda: x.to(torch_().float64),
        "to half": lambda: x.half(),
        "to itself": lambda: x.to(o.device),
        "to cpu": lambda: x.to("cpu", copy=True),
        "from cpu": lambda: o.on_host.to(o.device, copy=True),
        "copy_": lambda: z.copy_(x),
        "copy_ cpu": lambda: z.copy_(o.on_host),
        "contiguous": lambda: x.t().contiguous(),
        "long": lambda: x.long(),
        "resize_": lambda: z.resize_(2, 2),
    }


def values(o: Operands) -> Works:
    return {
        "item": lambda: o.scalar.item(),
        "float": lambda: float(o.scalar),
        "bool": lambda: bool(o.scalar),
        "tolist": lambda: o.x.tolist(),
        "is_nonzero": lambda: o.scalar.is_nonzero(),
        "allclose": lambda: torch_().allclose(o.x, o.x),
        "data_ptr": lambda: o.x.data_ptr(),
        "device": lambda: o.x.device,
        "is_cuda": lambda: o.x.is_cuda,
    }


def random(o: Operands) -> Works:
    z = o.z.clone()
    torch = torch_()
    return {
        "normal_": lambda: z.normal_(),
        "uniform_": lambda: z.uniform_(),
        "bernoulli_": lambda: z.bernoulli_(0.5),
        "random_": lambda: z.random_(),
        "exponential_": lambda: z.exponential_(),
        "bernoulli": lambda: o.x.bernoulli(),
        "multinomial": lambda: torch.multinomial(o.x, 1),
        "normal": lambda: torch.normal(0.0, o.x),
    }


def libraries(o: Operands) -> Works:
    """An operator that is not aten's, with a CPU kernel: DevSan has no kernel of its own for it."""
    quantized = torch_().ops.quantized
    unpack = quantized.embedding_bag_byte_unpack.default
    packed = quantized.embedding_bag_byte_prepack(o.x.cpu()).to(o.x.device)
    return {"embedding_bag_byte_unpack": lambda: unpack(packed)}
