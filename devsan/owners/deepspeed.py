"""What DeepSpeed placed: the engine's move of the model, ZeRO's partitions and offloads."""

from devsan.owners.stack import Rule

RULES = (
    Rule("deepspeed", "zero/partition_parameters", (), "zero.Init", "zero_optimization.stage = 3"),
    Rule("deepspeed", "zero/stage3", (), "ZeRO-3", "zero_optimization.offload_optimizer.device"),
    Rule("deepspeed", "zero/stage_1_and_2", (), "ZeRO-2", "zero_optimization.offload_optimizer.device"),
    Rule("deepspeed", "zero/offload", (), "ZeRO offload", "zero_optimization.offload_param.device"),
    Rule("deepspeed", "swap_tensor", (), "swap", "zero_optimization.offload_optimizer.device = nvme"),
    Rule("deepspeed", "runtime/engine", (), "DeepSpeedEngine", "local_rank"),
    Rule("deepspeed", "inference/", (), "InferenceEngine", "local_rank"),
    Rule("deepspeed", "", (), "DeepSpeedEngine"),
)
