# expect: DV203 | gpus: 2 | operands: - | owner: -
"""A dispatched model is given to a pipeline together with a device."""

import tempfile

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, pipeline


def tokenizer():
    words = {w: i for i, w in enumerate(["<unk>", "<eos>", "the", "cat", "sat", "on", "mat"])}
    core = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>", eos_token="<eos>", pad_token="<eos>")


with tempfile.TemporaryDirectory() as folder:
    config = GPT2Config(vocab_size=7, n_positions=32, n_embd=16, n_layer=2, n_head=2, eos_token_id=1, bos_token_id=1)
    GPT2LMHeadModel(config).save_pretrained(folder)
    device_map = {
        "transformer.wte": 0,
        "transformer.wpe": 0,
        "transformer.drop": 0,
        "transformer.h.0": 0,
        "transformer.h.1": 1,
        "transformer.ln_f": 1,
        "lm_head": 0,
    }
    model = AutoModelForCausalLM.from_pretrained(folder, device_map=device_map)
    pipe = pipeline("text-generation", model=model, tokenizer=tokenizer(), device=0)
    print(pipe("the cat sat", max_new_tokens=3))
