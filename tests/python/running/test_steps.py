"""What counts as a step of a program, by what its optimizers do; and how many there will be."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
import torch

from devsan.optimizer_steps import watch_steps
from devsan.running import end, steps
from devsan.running.end import End


@pytest.fixture
def counted(tmp_path):
    steps.end()  # of an emulation of the session
    seen: list[int] = []
    steps.begin(SimpleNamespace(count_step=lambda: seen.append(1)), str(tmp_path / "progress"))
    yield seen
    steps.end()


@pytest.fixture
def ends(counted, tmp_path):
    """What the file shows behind each step."""
    seen: list[End | None] = []
    undo = watch_steps(after=lambda _: seen.append(end.read(str(tmp_path / "progress"))))
    yield seen
    undo()


def optimizer() -> torch.optim.Optimizer:
    return torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)


def test_each_step_of_one(counted):
    only = optimizer()
    for _ in range(3):
        only.step()
    assert len(counted) == 3


def test_an_optimizer_for_each_parameter(counted):
    several = [optimizer() for _ in range(5)]
    for _ in range(3):
        for each in several:
            each.step()
    assert len(counted) == 3


def test_one_that_steps_less_often_and_one_that_takes_over(counted):
    critic, generator, later = optimizer(), optimizer(), optimizer()
    for step in range(6):
        critic.step()
        if step % 3 == 2:
            generator.step()
    assert len(counted) == 6
    for _ in range(4):
        later.step()
    assert len(counted) == 6 + 3  # the first step of the new one may be of the same round as the last of the old


def test_nothing_is_counted_or_left_behind_after_the_end(counted):
    hooks = sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks  # type: ignore[attr-defined]
    before = len(hooks)
    steps.end()
    assert len(hooks) == before - 1
    optimizer().step()
    assert counted == []


def test_a_pass_through_the_data_says_when_it_ends(ends):
    only = optimizer()
    for _ in range(2):
        for number, _batch in enumerate(torch.utils.data.DataLoader(torch.ones(12, 1), batch_size=2)):
            list(torch.utils.data.DataLoader(torch.ones(3)))  # to validate
            if number % 2:
                only.step()
    only.step()
    assert ends == [End(3, True), End(3, True), None, End(6, True), End(6, True), None, None]


def test_a_pass_within_which_the_first_gpu_is_used_says_it_too(ends, tmp_path):
    only = optimizer()
    for number, _batch in enumerate(torch.utils.data.DataLoader(torch.ones(4, 1))):
        if number == 0:
            steps.begin(SimpleNamespace(count_step=bool), str(tmp_path / "another"))
        only.step()
    assert end.read(str(tmp_path / "another")) is None  # the pass is over with its last batch
    assert steps._progress is not None and len(steps._progress._passes) == 1


class Endless(torch.utils.data.Sampler):  # type: ignore[type-arg]
    asked = 0

    def __iter__(self):
        return iter(range(3))

    def __len__(self):
        type(self).asked += 1
        return sys.maxsize


def test_a_sampler_of_the_program_is_not_asked_for_its_length(ends):
    only = optimizer()
    for _ in torch.utils.data.DataLoader(torch.ones(3, 1), sampler=Endless()):
        only.step()
    assert (Endless.asked, ends) == (0, [None] * 3)


def test_a_trainer_without_an_end_and_a_release_with_other_names(counted, tmp_path):
    assert steps._progress is not None
    steps._progress._last = 2**80
    optimizer().step()
    assert end.read(str(tmp_path / "progress")) == End(2**64 - 1, False)
    steps._progress._follow_fit(SimpleNamespace())
    steps._progress._follow_trainer(SimpleNamespace(CallbackHandler=type("CallbackHandler", (), {})))


def test_a_trainer_says_how_many_there_will_be(ends, tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    config = transformers.LlamaConfig(vocab_size=8, hidden_size=8, intermediate_size=8, num_hidden_layers=1,
                                      num_attention_heads=1)  # fmt: skip
    rows = [{"input_ids": row, "labels": row} for row in torch.zeros(6, 3, dtype=torch.long)]
    arguments = transformers.TrainingArguments(
        tmp_path, num_train_epochs=2, per_device_train_batch_size=2, save_strategy="no", report_to="none",
        disable_tqdm=True, use_cpu=True,
    )  # fmt: skip
    transformers.Trainer(transformers.LlamaForCausalLM(config), arguments, train_dataset=rows).train()
    assert ends == [End(6, False)] * 6


def test_so_does_lightning(ends):
    lightning = pytest.importorskip("lightning")

    class Job(lightning.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch: torch.Tensor) -> torch.Tensor:
            return self.layer(batch).mean()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=2, accumulate_grad_batches=2, enable_model_summary=False, **quiet
    )
    trainer.fit(Job(), torch.utils.data.DataLoader(torch.ones(6, 1), batch_size=1))
    assert ends == [End(6, False)] * 6
