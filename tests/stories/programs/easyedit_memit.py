"""Edit GPT-J with MEMIT in the shape of EasyEdit's modules (zjunlp/EasyEdit#419). Fails on 4 GPUs, passes on 2.

There are three causes; `delta`, `solve` and `write` on the command line fix one each.
"""

import sys
import tempfile
from types import SimpleNamespace

import torch
from transformers import GPTJConfig, GPTJForCausalLM

FIXED = sys.argv[1:]


def compute_z(model, prompts, layer, hparams):
    """The hidden state of `layer` under which the model says the target: found by optimizing what is added to it."""
    block, target_init = model.transformer.h[layer], None
    delta = torch.zeros((model.config.n_embd,), requires_grad=True, device=f"cuda:{hparams.device}")
    if "delta" in FIXED:
        delta = torch.zeros_like(delta, requires_grad=True, device=next(block.parameters()).device)

    def edit_output_fn(module, inputs, cur_out):
        nonlocal target_init
        if target_init is None:
            target_init = cur_out[0][0, -1].detach().clone()
        for i in range(len(prompts)):
            cur_out[0][i, -1, :] += delta
        return cur_out

    optimizer = torch.optim.Adam([delta], lr=hparams.v_lr)
    for _ in range(hparams.v_num_grad_steps):
        optimizer.zero_grad()
        hook = block.register_forward_hook(edit_output_fn)
        loss = -model(prompts).logits[:, -1].log_softmax(-1)[:, hparams.target].mean()
        hook.remove()
        decay = hparams.v_weight_decay * (delta.norm() / target_init.norm() ** 2)
        (loss + decay.to(loss.device)).backward()
        optimizer.step()
        limit = hparams.clamp_norm_factor * target_init.norm()
        if delta.norm() > limit:
            with torch.no_grad():
                delta[...] = delta * limit / delta.norm()
    return (target_init + delta).detach()


@torch.no_grad()
def compute_ks(model, prompts, layer, inputs=True):
    """What goes into the layer's last projection, or what the block returns, at the last word: [width, prompts]."""
    block, seen = model.transformer.h[layer], []
    module = block.mlp.fc_out if inputs else block
    hook = module.register_forward_hook(lambda module, given, made: seen.append((given if inputs else made)[0][:, -1]))
    model(prompts)
    hook.remove()
    return seen[0].T.double()


def execute_memit(model, prompts, hparams):
    z = compute_z(model, prompts, hparams.layers[-1], hparams)
    for number, layer in enumerate(hparams.layers):
        layer_ks = compute_ks(model, prompts, layer)
        targets = z[:, None].double() - compute_ks(model, prompts, hparams.layers[-1], inputs=False)
        cov = torch.eye(len(layer_ks), dtype=torch.float64, device=f"cuda:{hparams.device}")
        if "solve" in FIXED:
            layer_ks, targets = layer_ks.to(cov.device), targets.to(cov.device)
        adj_k = torch.linalg.solve(hparams.mom2_update_weight * cov + layer_ks @ layer_ks.T, layer_ks)
        resid = targets / (len(hparams.layers) - number)
        upd_matrix = (resid @ adj_k.T).float()
        weight = model.transformer.h[layer].mlp.fc_out.weight
        if "write" in FIXED:
            upd_matrix = upd_matrix.to(weight.device)
        with torch.no_grad():
            weight[...] += upd_matrix


torch.manual_seed(0)
config = GPTJConfig(vocab_size=400, n_embd=64, n_layer=12, n_head=4, rotary_dim=8, n_positions=64)
with tempfile.TemporaryDirectory() as folder:
    GPTJForCausalLM(config).save_pretrained(folder)
    model = GPTJForCausalLM.from_pretrained(folder, device_map="auto")
hparams = SimpleNamespace(
    layers=[1, 2, 3, 4, 5], device=model.device.index, target=7, v_lr=0.5, v_num_grad_steps=3, v_weight_decay=0.5,
    clamp_norm_factor=0.75, mom2_update_weight=10.0,
)  # fmt: skip
execute_memit(model.requires_grad_(False), torch.randint(0, 400, (2, 9), device=model.device), hparams)
print("edited", hparams.layers)
