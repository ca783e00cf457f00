"""What the program placed itself, with torch's own means."""

from devsan.owners.stack import Rule

# Means of torch through which anybody places; who did is told by the frame that called them.
MEANS = (
    Rule("torch", "nn/modules/module", ("Module.to", "Module.cuda", "Module.cpu", "Module.to_empty", "_apply",
                                        "to", "cuda", "cpu", "to_empty"), "Module.to"),
    Rule("torch", "utils/_device", (), "torch.set_default_device", owner="torch.set_default_device"),
    Rule("torch", "torch/optim", (), "optimizer"),
)  # fmt: skip
