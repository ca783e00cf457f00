"""Fine-tune GLM-4 over several GPUs with the loss of its own modeling file. --fix moves the labels to the logits."""

import sys
import tempfile

import torch
from torch.nn import CrossEntropyLoss
from transformers import Glm4Config, Glm4ForCausalLM, Trainer, TrainingArguments
from transformers.modeling_outputs import CausalLMOutput


class ChatGLM(Glm4ForCausalLM):
    def forward(self, input_ids, attention_mask=None, labels=None):
        hidden_states = self.model(input_ids, attention_mask).last_hidden_state
        lm_logits = self.lm_head(hidden_states).to(torch.float32)
        shift_logits = lm_logits[..., :-1, :].contiguous()
        shift_labels = labels[..., 1:].contiguous()
        if "--fix" in sys.argv:
            shift_labels = shift_labels.to(shift_logits.device)
        loss_fct = CrossEntropyLoss(ignore_index=-100)
        loss = loss_fct(shift_logits.view(-1, shift_logits.size(-1)), shift_labels.view(-1))
        return CausalLMOutput(loss=loss, logits=lm_logits)


torch.manual_seed(0)
shape = {"num_hidden_layers": 9, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}
config = Glm4Config(vocab_size=256, hidden_size=64, intermediate_size=128, pad_token_id=0, **shape)
dataset = [{"input_ids": text, "labels": text} for text in torch.randint(0, config.vocab_size, (8, 12))]
budget = {"cpu": "20GB", **dict.fromkeys(range(1, torch.cuda.device_count()), "20GB")}  # GPU 0 is someone else's

with tempfile.TemporaryDirectory() as folder:
    ChatGLM(config).save_pretrained(folder)
    model = ChatGLM.from_pretrained(folder, device_map="auto", max_memory=budget)
    quiet = {"logging_steps": 1, "save_strategy": "no", "report_to": "none", "disable_tqdm": True}
    arguments = TrainingArguments(folder, max_steps=2, per_device_train_batch_size=2, max_grad_norm=0, **quiet)
    trainer = Trainer(model=model, args=arguments, train_dataset=dataset)
    trainer.train()

losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
print("losses", losses)
