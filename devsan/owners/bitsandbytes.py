"""What bitsandbytes placed: quantised weights and the state beside them."""

from devsan.owners.stack import Rule

RULES = (
    Rule("bitsandbytes", "nn/modules", (), "quantise", "quantization_config"),
    Rule("bitsandbytes", "functional", (), "quant state", "quantization_config"),
    Rule("bitsandbytes", "optim/", (), "optimizer"),
    Rule("bitsandbytes", "", (), "quantise"),
)
