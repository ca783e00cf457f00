"""Operators that networks are made of."""

from __future__ import annotations

from operands import Operands, Works, functional, torch_


def products(o: Operands) -> Works:
    x, y = o.x, o.y
    batched = o.text
    torch = torch_()
    return {
        "mm": lambda: x.mm(y),
        "matmul": lambda: x @ y,
        "matmul batched": lambda: batched @ x,
        "bmm": lambda: batched.bmm(batched),
        "addmm": lambda: torch.addmm(x, x, y),
        "baddbmm": lambda: torch.baddbmm(batched, batched, batched),
        "mv": lambda: x.mv(o.pair),
        "dot": lambda: o.four.dot(o.four),
        "outer": lambda: torch.outer(o.four, o.four),
        "linear": lambda: functional().linear(x, y),
        "linear bias": lambda: functional().linear(x, y, o.pair),
        "linear batched": lambda: functional().linear(batched, y, o.pair),
        "einsum": lambda: torch.einsum("ij,jk->ik", x, y),
        "einsum batched": lambda: torch.einsum("bij,kj->bik", batched, x),
        "tensordot": lambda: torch.tensordot(x, y, 1),
        "cdist": lambda: torch.cdist(x, y),
        "linalg.inv": lambda: torch.linalg.inv(x),
    }


def networks(o: Operands) -> Works:
    f = functional()
    picture, text, x, one, two = o.picture, o.text, o.x, o.pair, o.other_pair
    return {
        "conv2d": lambda: f.conv2d(picture, o.weight),
        "conv1d": lambda: f.conv1d(text, o.filter),
        "conv_transpose2d": lambda: f.conv_transpose2d(picture, o.weight),
        "max_pool2d": lambda: f.max_pool2d(picture, 2),
        "avg_pool2d": lambda: f.avg_pool2d(picture, 2),
        "adaptive_avg_pool2d": lambda: f.adaptive_avg_pool2d(picture, 1),
        "interpolate": lambda: f.interpolate(picture, scale_factor=2.0),
        "layer_norm": lambda: f.layer_norm(x, (2,), one, two),
        "rms_norm": lambda: f.rms_norm(x, (2,), one),
        "group_norm": lambda: f.group_norm(picture, 1, one, two),
        "batch_norm": lambda: f.batch_norm(picture, one, two, one, two),
        "batch_norm training": lambda: f.batch_norm(picture, o.means, o.variances, one, two, training=True),
        "embedding": lambda: f.embedding(o.index, x),
        "embedding_bag": lambda: f.embedding_bag(o.places, x),
        "dropout": lambda: f.dropout(x, 0.5),
        "sdpa": lambda: f.scaled_dot_product_attention(o.heads, o.heads, o.heads),
        "sdpa causal": lambda: f.scaled_dot_product_attention(o.heads, o.heads, o.heads, is_causal=True),
        "glu": lambda: f.glu(text),
        "prelu": lambda: f.prelu(x, one),
        "one_hot": lambda: f.one_hot(o.index, 2),
    }


def losses(o: Operands) -> Works:
    f = functional()
    x, y = o.x, o.y
    return {
        "softmax": lambda: x.softmax(-1),
        "log_softmax": lambda: x.log_softmax(-1),
        "cross_entropy": lambda: f.cross_entropy(x, o.index),
        "nll_loss": lambda: f.nll_loss(x, o.index),
        "mse_loss": lambda: f.mse_loss(x, y),
        "l1_loss": lambda: f.l1_loss(x, y),
        "smooth_l1_loss": lambda: f.smooth_l1_loss(x, y),
        "binary_cross_entropy": lambda: f.binary_cross_entropy(x, y),
        "bce_with_logits": lambda: f.binary_cross_entropy_with_logits(x, y),
        "kl_div": lambda: f.kl_div(x, y, reduction="batchmean"),
        "cosine_similarity": lambda: f.cosine_similarity(x, y),
    }


def recurrent(o: Operands) -> Works:
    torch = torch_()
    x, gates, bias = o.x, o.gates, o.bias
    three, three_biases, one, one_bias = gates[:6], bias[:6], gates[:2], bias[:2]
    weights = [gates, gates, bias, bias]
    return {
        "lstm_cell": lambda: torch.lstm_cell(x, (x, x), gates, gates, bias, bias),
        "gru_cell": lambda: torch.gru_cell(x, x, three, three, three_biases, three_biases),
        "rnn_tanh_cell": lambda: torch.rnn_tanh_cell(x, x, one, one, one_bias, one_bias),
        "lstm": lambda: torch.lstm(o.text, (o.text, o.text), weights, True, 1, 0.0, False, False, False),
    }


def autograd(o: Operands) -> Works:
    torch = torch_()
    leaf, x = o.leaf, o.x
    made = (leaf * x).sum()
    return {
        "mul, recorded": lambda: leaf * x,
        "view, recorded": lambda: leaf.view(4),
        "sum, recorded": lambda: leaf.sum(),
        "mm, recorded": lambda: leaf @ x,
        "grad of mul and sum": lambda: torch.autograd.grad(made, leaf, retain_graph=True),
    }
