"""What bitsandbytes placed: quantized weights and the state beside them.

Its parameters quantize themselves while they move (nn/modules.py, Params4bit.to and Int8Params.to), so whoever moves
the layer places the weight; what appears beside it is bitsandbytes' own.
"""

from devsan.owners.stack import Rule

_MOVES = ("Params4bit.to", "Params4bit.cuda", "Params4bit.cpu", "Int8Params.to", "Int8Params.cuda", "Int8Params.cpu",
          "_quantize", "Linear4bit._apply", "Linear8bitLt._apply", "Linear8bitLt.to", "LinearNF4.to")  # fmt: skip

RULES = (
    Rule("bitsandbytes", "nn/modules", _MOVES, passes=True),
    Rule("bitsandbytes", "nn/modules", ("__init__",), passes=True),
    Rule("bitsandbytes", "nn/modules", (), "quantize", "quantization_config"),
    Rule("bitsandbytes", "functional", (), "quant state", "quantization_config"),
    Rule("bitsandbytes", "backends/", (), "quant state", "quantization_config"),
    Rule("bitsandbytes", "optim/", (), "optimizer"),
    Rule("bitsandbytes", "", (), "quantize"),
)
