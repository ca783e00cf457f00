"""Where a rank says that its model is."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import devsan  # noqa: E402
from devsan.introspect.models.models import Tree  # noqa: E402
from devsan.job.ranks import models  # noqa: E402


def test_a_model_that_came_back_from_a_gpu_counts_as_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with devsan.emulate(gpus=2):
        model = torch.nn.Linear(4, 4)
        # Of the models that other tests leave behind, a process tells only some.
        monkeypatch.setattr(models, "live_models", lambda: [Tree(model, "", ())])

        def devices() -> set[str]:
            [told] = models.models_of_process()
            return {tensor["device"] for tensor in told["tensors"]}

        assert devices() == {"cpu"}
        model.to("cuda:1")
        assert devices() == {"cuda:1"}
        model.cpu()  # as Lightning's teardown does
        assert devices() == {"cuda:1"}
