"""Inputs and labels for any model class of transformers, by the names and sizes that models share."""

import re

import torch

LENGTH = 12


def inputs_of(cls, config, parameters, device, layout=0, labeled=True):
    """Inputs and labels, as a user makes them, on one device.

    Args:
        cls: the model class.
        config: of the model.
        parameters: of its forward, by name.
        device: of all of them.
        layout: 0, 1 or 2: how names are meant that models mean differently. Waves or frames, time first or last, with
            images or without.
        labeled: with labels.
    """
    makers = Makers(cls, config, parameters, device, layout)
    needed = {name for name, each in parameters.items() if each.default is each.empty} | {cls.main_input_name}
    labels = labels_of(cls.__name__, makers.text, parameters, device) if labeled else {}
    if not labels:
        needed.add("decoder_input_ids")
    if "input_ids" in needed:
        needed.add("bbox")
    if layout == 1:
        needed |= {"pixel_values"} if "input_ids" in needed else {"input_ids"}
    if layout == 2:
        needed |= {"attention_mask", "input_features_mask", "decoder_input_ids"}
    if "return_loss" in parameters and labeled:
        needed |= {"input_ids", "pixel_values"}
        labels = {"return_loss": True}
    made = {name: makers.make(name) for name in parameters if name in needed}
    return {name: value for name, value in made.items() if value is not None} | labels


def part_of(config, *names):
    """What a configuration, or the first of its parts that has it, says of one of ``names``."""
    for name in names:
        for each in (config, *(getattr(config, key) for key in list(vars(config)) if key.endswith("config"))):
            value = getattr(each, name, None)
            if value is not None:
                return value
    return None


class Makers:
    """Makes each input by its name."""

    def __init__(self, cls, config, parameters, device, layout):
        self.config, self.parameters, self.device, self.layout = config, parameters, device, layout
        self.is_video = "Video" in cls.__name__ or part_of(config, "tubelet_size") is not None
        self.channels = part_of(config, "num_channels", "in_channels", "in_chans", "image_channels") or 3
        self.patch = part_of(config, "patch_size") or 8
        books = (part_of(config, "num_codebooks") or 1) if layout == 1 else 1  # of a model of sounds: a row each
        self.text = self.tokens((2, 2, LENGTH) if "MultipleChoice" in cls.__name__ else (2 * books, LENGTH))

    def make(self, name):
        """The input called ``name``; None where nobody knows what it is."""
        maker = getattr(self, name, None)
        return maker() if callable(maker) else None

    def tokens(self, shape):
        """Tokens, the last of which ends the text."""
        vocabulary = part_of(self.config, "vocab_size") or 128
        text = torch.randint(3, max(4, min(vocabulary, 100)), shape, device=self.device)
        end = part_of(self.config, "eos_token_id")
        if isinstance(end, int) and 0 <= end < vocabulary:
            text[..., -1] = end
        return text

    def random(self, *shape):
        return torch.randn(*shape, device=self.device)

    def ones(self, *shape):
        return torch.ones(*shape, dtype=torch.long, device=self.device)

    def input_ids(self):
        return self.text

    def decoder_input_ids(self):
        return self.text

    def bbox(self):
        return self.ones(2, LENGTH, 4)

    def attention_mask(self):
        return self.ones(2, LENGTH)

    def pixel_values(self):
        if "spatial_shapes" in self.parameters:  # patches, as its processor cuts them
            return self.random(2, 16, self.channels * self.patch**2)
        size = part_of(self.config, "image_size") or 64
        height, width = size if isinstance(size, (list, tuple)) else (size, size)
        if self.is_video == (self.layout != 2):
            return self.random(2, part_of(self.config, "num_frames") or 2, self.channels, height, width)
        return self.random(2, self.channels, height, width)

    def pixel_values_videos(self):
        pixels = self.pixel_values()
        return pixels if pixels.dim() == 5 else pixels[:, None].repeat(1, 2, 1, 1, 1)

    def pixel_attention_mask(self):
        return self.ones(2, 16)

    def input_features_mask(self):
        return self.ones(2, 64)

    def spatial_shapes(self):
        return self.ones(2, 2) * 4

    def grid_thw(self):
        return torch.tensor([[1, 4, 4], [1, 4, 4]], device=self.device)

    image_grid_thw = grid_thw

    def hidden_states(self):
        if "grid_thw" in self.parameters:
            return self.random(32, self.channels * (part_of(self.config, "temporal_patch_size") or 1) * self.patch**2)
        return self.random(2, LENGTH, part_of(self.config, "hidden_size", "d_model") or 32)

    inputs_embeds = encoder_hidden_states = hidden_states

    def input_values(self):
        """A wave, one with a channel, or frames."""
        frames = part_of(self.config, "max_length") or 64, part_of(self.config, "num_mel_bins") or 80
        return self.random(
            *((2, 4000), (2, part_of(self.config, "audio_channels") or 1, 4000), (2, *frames))[self.layout]
        )

    def input_features(self):
        """Frames, with time last as whisper's, or first."""
        bins = (
            part_of(
                self.config, "num_mel_bins", "feature_size", "input_feat_per_channel", "feature_projection_input_dim"
            )
            or 80
        )
        positions = part_of(self.config, "max_source_positions")
        size = part_of(self.config, "spec_size") or 64
        return self.random(
            *((2, bins, 2 * positions if positions else 64), (2, 64, bins), (2, 1, size, bins))[self.layout]
        )

    def past_values(self):
        return self.random(
            2, part_of(self.config, "context_length") or 32, part_of(self.config, "num_input_channels") or 1
        )


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
