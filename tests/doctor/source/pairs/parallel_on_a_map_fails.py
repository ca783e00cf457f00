# expect: DV202 | gpus: 2
"""Two ways to use both GPUs at once."""

import torch
from transformers import AutoModelForSequenceClassification


def get_model(path, spread):
    kwargs = {"num_labels": 3}
    if spread:
        kwargs["device_map"] = "auto"
    return AutoModelForSequenceClassification.from_pretrained(path, **kwargs)


def main(spread=True):
    model = get_model("roberta-base", spread)
    if not spread:
        model = model.cuda()
    if torch.cuda.device_count() > 1:
        model = torch.nn.DataParallel(model)
    model.eval()


main()
