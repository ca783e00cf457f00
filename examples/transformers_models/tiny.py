"""A small configuration of any model class of transformers.

The defaults of a configuration fit each other: widths divide by heads, the output of one part is the input of the next.
So all widths are divided by one number, and all else stays or is cut: layers, vocabulary, positions, experts. Only what
changes is given to the class, which derives from it what it derives from its defaults.
"""

import re
from dataclasses import dataclass

VOCABULARY, POSITIONS, EXPERTS = 128, 128, 16

_LAYERS = (
    r"n_layers?|num_layers|(en|de)coder_layers|layers|depths?|num_.*_layers|.*_num_(hidden_)?layers|(n|num)_blocks"
)
_EXPERTS = r"num_(local_|routed_)?experts|n_routed_experts|moe_num_experts|num_.*experts"
_POSITIONS = r"max_position_embeddings|n_positions|max_.*_positions|max_sequence_length|seq_length|n_ctx"
_WIDTHS = (
    r"n_embd|n_inner|d_(model|ff|kv|inner|head|embed|state)|dff|.*(hidden|width|dim|rank|inner|ffn|intermediate|features)"
    r"(_sizes?|_dims?|_channels)?(_per_head|_mlp)?|.*(embed(ding)?s?|head|attention|state|ff|mlp|conv|encoder|decoder)"
    r"_(size|dims?|channels)|.*(embed_dims?|channels|hidden_sizes?|embedding_size|lora_rank)|mrope_section|out_dims?"
)
_HEADS = r"n_heads?|.*attention_heads|.*num_heads|num_.*_heads|.*kv_heads|(num_)?key_value_heads"
_HEAD_WIDTHS = r"(.*_)?head_(dim|size)|d_head|d_kv|rotary_dim|mrope_section"
_PICTURES = r"(.*_)?(image|img|input|pretrain_image)_size"
_NO_WIDTHS = (
    r"num_channels|(num_)?(in|image|input|output|audio|num_input)_channels|vocab.*|.*kernel.*|spectrogram.*"
    r"|.*_(stride|factor)"
)


@dataclass(frozen=True)
class Size:
    """How small a configuration is made.

    Attributes:
        factor: by which widths are divided.
        layers: of each part, at most.
        picture: the side of an image, at most; without it that of the defaults.
        whole: whether a part is given with all that it says, or with what changes: the rest is then derived anew.
        fewer_heads: whether there are fewer heads, as wide as those of the defaults, or as many narrower ones.
    """

    factor: int
    layers: int
    picture: int | None
    whole: bool
    fewer_heads: bool = False

    def config(self, kind):
        """A small configuration of the class ``kind``."""
        plain = kind().to_dict()
        small = self._table(plain)
        made = {name: value for name, value in small.items() if value != plain[name]}
        if plain.get("pad_token_id", 0) is None:  # classifiers ask for one
            made["pad_token_id"] = 0
        if plain.get("is_encoder_decoder") and plain.get("decoder_start_token_id", 0) is None:
            made["decoder_start_token_id"] = 1
        return kind(**made)

    def _table(self, plain):
        sizes = {name: value for name, value in plain.items() if isinstance(name, str)}  # not the names of labels
        counts = {
            size
            for name, size in sizes.items()
            if _is_count(size) and size > self.layers and re.fullmatch(_LAYERS, name)
        }
        return {name: self._small(name, value, counts) for name, value in sizes.items()
                if name not in ("dtype", "transformers_version")}  # fmt: skip

    def _small(self, name, value, counts):
        if isinstance(value, dict):
            return self._part(name, value)
        if name.endswith("_token_id") and _is_count(value):
            return value if value < 100 else 100 + value % (VOCABULARY - 100)
        if isinstance(value, (list, tuple)):
            if len(value) in counts and not any(isinstance(each, (list, dict)) for each in value):  # one entry a layer
                value = value[: self.layers]
            return [self._small(name, each, counts) for each in value]
        return self._number(name, value) if _is_count(value) else value

    def _part(self, name, value):
        if value and all(isinstance(key, int) or key.isdigit() for key in value):  # by the number of the layer
            return {key: self._part(name, {"": each})[""] for key, each in value.items() if int(key) < self.layers}
        small = self._table(value)
        if not name.endswith("config") or self.whole:
            return {**value, **small}
        return {key: each for key, each in small.items() if each != value[key] or key == "model_type"}

    def _number(self, name, value):
        for pattern, most in (
            (_LAYERS, self.layers), (".*vocab_size", VOCABULARY), (_POSITIONS, POSITIONS), (_EXPERTS, EXPERTS),
            (".*top_?k|num_experts_per_tok", 2), ("num_(object_)?queries", 8), (_PICTURES, self.picture or value),
        ):  # fmt: skip
            if re.fullmatch(pattern, name):
                return min(value, most)
        if self.fewer_heads and re.fullmatch(_HEAD_WIDTHS, name):
            return value
        if self.fewer_heads and re.fullmatch(_HEADS, name):
            return max(1, value // self.factor)
        is_width = re.fullmatch(_WIDTHS, name) and not re.fullmatch(_NO_WIDTHS, name)
        return value // self.factor if is_width and value % self.factor == 0 else value


SIZES = (
    Size(16, 4, 32, True), Size(16, 4, 64, False), Size(32, 8, None, True, True), Size(8, 8, None, True, True),
    Size(2, 6, 64, True), Size(1, 2, 64, False),
)  # fmt: skip
"""One after the other is tried."""


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
