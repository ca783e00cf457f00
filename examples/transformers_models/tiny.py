"""A small configuration of any model class of transformers, and inputs for it: by the names that all models share."""

import re

import torch

WIDTH, HEADS, LAYERS, VOCABULARY, LENGTH, IMAGE, PATCH = 32, 4, 4, 128, 12, 32, 8

# The first rule that fits a name decides. A list keeps its length.
RULES = [
    (r".*vocab_size", VOCABULARY),
    (r"(num_)?key_value_heads|.*kv_heads", 2),
    (r"n_heads?|.*attention_heads|.*num_heads|num_.*_heads", HEADS),
    (r"(.*_)?head_dim|d_head|d_kv|attention_head_size", WIDTH // HEADS),
    (r"n_layers?|num_layers|(en|de)coder_layers|depth|num_.*_layers|.*_num_(hidden_)?layers|(n|num)_blocks", LAYERS),
    (r"depths|layers", 2),
    (r".*(intermediate|ffn|feed_?forward|d_ff|ff_dim|d_inner|dff|mlp_dim|n_inner|hidden_dim).*", 2 * WIDTH),
    (r"max_position_embeddings|n_positions|max_.*_positions|max_sequence_length|seq_length|n_ctx", 64),
    (r"image_size|img_size|input_size|pretrain_image_size", IMAGE),
    (r"n_embd|emb_dim|dim|width|embed_size|.*(d_model|hidden_sizes?|hidden_channels|embed_dims?|embedding_(dim|size)"
     r"|proj(ection)?_(dim|size)|lora_rank)", WIDTH),
    (r"num_(local_|routed_)?experts|n_routed_experts|moe_num_experts|num_.*experts", 4),
    (r"num_experts_per_tok|.*top_?k", 2),
    (r"patch_size|num_mel_bins|num_queries", PATCH),
]  # fmt: skip


def shrunk(plain):
    """A configuration's dictionary with all that makes a model large made small."""
    layers = plain.get("num_hidden_layers")
    made = {}
    for name, value in plain.items():
        if isinstance(value, dict) and name.endswith("config"):
            made[name] = shrunk(value)
        elif isinstance(value, list) and layers and len(value) == layers:  # one entry a layer
            made[name] = value[:LAYERS]
        elif isinstance(value, int) and name.endswith("_token_id"):
            made[name] = value if value < 100 else 100 + value % (VOCABULARY - 100)
        elif name not in ("dtype", "transformers_version"):
            made[name] = small(name, value)
    if "pad_token_id" in made and made["pad_token_id"] is None:  # classifiers ask for one
        made["pad_token_id"] = 0
    return made


def small(name, value):
    most = next((size for pattern, size in RULES if re.fullmatch(pattern, name)), None)
    if most is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return min(value, most)
    if isinstance(value, (list, tuple)) and all(isinstance(each, int) for each in value):
        return [min(each, most) for each in value]
    return value


def tiny_config(kind):
    """A small configuration of the class ``kind``."""
    return kind(**shrunk(kind().to_dict()))


def part_of(config, name):
    """What a configuration, or the first of its parts that has it, says of ``name``."""
    for each in (config, *(getattr(config, key) for key in list(vars(config)) if key.endswith("config"))):
        value = getattr(each, name, None)
        if value is not None:
            return value
    return None


def inputs_of(cls, config, parameters, device):
    """Inputs and labels, as a user makes them, on one device.

    Args:
        cls: the model class.
        config: of the model.
        parameters: of its forward, by name.
        device: of all of them.
    """
    text = text_of(config, (2, 2, LENGTH) if "MultipleChoice" in cls.__name__ else (2, LENGTH), device)
    makers = {
        "input_ids": lambda: text,
        "decoder_input_ids": lambda: text,
        "bbox": lambda: torch.ones(2, LENGTH, 4, dtype=torch.long, device=device),
        "pixel_values": lambda: image(config, device),
        "pixel_values_videos": lambda: image(config, device)[:, None].repeat(1, 2, 1, 1, 1),
        "input_values": lambda: torch.randn(2, 1600, device=device),
        "input_features": lambda: torch.randn(2, part_of(config, "num_mel_bins") or 80, 64, device=device),
        "attention_mask": lambda: torch.ones(2, LENGTH, dtype=torch.long, device=device),
    }
    needed = {name for name, each in parameters.items() if each.default is each.empty} | {cls.main_input_name}
    labels = labels_of(cls.__name__, text, parameters, device)
    if not labels:
        needed.add("decoder_input_ids")
    if "input_ids" in needed:
        needed.add("bbox")
    if "return_loss" in parameters:
        needed |= {"input_ids", "pixel_values"}
        labels = {"return_loss": True}
    return {name: makers[name]() for name in parameters if name in needed and name in makers} | labels


def text_of(config, shape, device):
    """Tokens, the last of which ends the text."""
    vocabulary = part_of(config, "vocab_size") or VOCABULARY
    text = torch.randint(3, max(4, min(vocabulary, 100)), shape, device=device)
    end = part_of(config, "eos_token_id")
    if isinstance(end, int) and 0 <= end < vocabulary:
        text[..., -1] = end
    return text


def image(config, device):
    size = part_of(config, "image_size") or IMAGE
    height, width = size if isinstance(size, (list, tuple)) else (size, size)
    return torch.randn(2, part_of(config, "num_channels") or 3, height, width, device=device)


def labels_of(name, text, parameters, device):
    """Labels for a class by its name; none where the name does not say what they are."""
    classes = torch.tensor([0, 1], device=device)
    if "start_positions" in parameters:
        return {"start_positions": classes, "end_positions": classes + 2}
    if "labels" not in parameters:
        return {}
    if "TokenClassification" in name:
        return {"labels": torch.randint(0, 2, text.shape, device=device)}
    if re.search(
        "SequenceClassification|ImageClassification|VideoClassification|MultipleChoice|NextSentence|XVector", name
    ):
        return {"labels": classes}
    if re.search(
        "CausalLM|LMHead|MaskedLM|ConditionalGeneration|HeadsModel|ForCTC|SpeechSeq2Seq|MTModel|Decoder", name
    ):
        return {"labels": text}
    return {}
