"""What loads models in fewer bits, beside a stand-in for transformers: bitsandbytes need not be there."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from devsan.blocks import quantization
from devsan.cuda.patches import Patches


@pytest.fixture
def patches() -> Iterator[Patches]:
    patches = Patches()
    yield patches
    patches.undo()


class Model:
    """What PreTrainedModel does: a configuration that asks for it is kept as the model's method."""

    asked: Any = None
    quantization_method: str | None = None

    @classmethod
    def from_pretrained(cls, source: str, *, output_loading_info: bool = False, **named: Any) -> Any:
        model = cls()
        model.asked = named.get("quantization_config") or getattr(named.get("config"), "quantization_config", None)
        model.quantization_method = "bitsandbytes" if model.asked else None
        return (model, {}) if output_loading_info else model


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    transformers = pytest.importorskip("transformers")
    monkeypatch.setattr(transformers, "BitsAndBytesConfig", SimpleNamespace)
    monkeypatch.setattr(quantization.importlib.util, "find_spec", lambda name: name == quantization.LIBRARY)
    return SimpleNamespace(PreTrainedModel=type("PreTrainedModel", (Model,), dict(vars(Model))))


@pytest.mark.parametrize("bits", [8, 4])
def test_a_model_is_asked_for_in_fewer_bits(module: Any, patches: Patches, bits: int) -> None:
    lever = quantization.Quantization(bits)
    lever.follow(module, patches)
    model = module.PreTrainedModel.from_pretrained("a", dtype="auto")
    assert vars(model.asked) == {"load_in_8bit": bits == 8, "load_in_4bit": bits == 4}
    assert lever.state == "on" and type(model) is module.PreTrainedModel
    module.PreTrainedModel.from_pretrained("a", output_loading_info=True)
    assert lever.state == "on"
    patches.undo()
    assert module.PreTrainedModel.from_pretrained("a").asked is None


@pytest.mark.parametrize(
    "named", [{"quantization_config": "own"}, {"config": SimpleNamespace(quantization_config="own")}]
)
@pytest.mark.parametrize("bits", [0, 8])
def test_what_the_program_asks_for_stays(module: Any, patches: Patches, bits: int, named: dict[str, Any]) -> None:
    lever = quantization.Quantization(bits)
    lever.follow(module, patches)
    assert module.PreTrainedModel.from_pretrained("a", **named).asked == "own"
    assert lever.state == "on"


@pytest.mark.parametrize(("is_there", "state"), [(True, "off"), (False, "missing")])
def test_what_could_be_quantized_is_noted(
    module: Any, patches: Patches, is_there: bool, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quantization.importlib.util, "find_spec", lambda name: is_there or None)
    lever = quantization.Quantization(0)
    lever.follow(module, patches)
    assert lever.state == ""
    module.PreTrainedModel.from_pretrained("a", quantization_config="own")
    module.PreTrainedModel.from_pretrained("b")
    module.PreTrainedModel.from_pretrained("a", quantization_config="own")
    assert lever.state == state
