"""What torch's own wrappers placed: DataParallel, DistributedDataParallel, FSDP."""

from devsan.owners.stack import Rule

RULES = (
    Rule("torch", "nn/parallel/replicate", (), "replicate", "device_ids", owner="torch.nn.DataParallel"),
    Rule("torch", "nn/parallel/scatter_gather", ("gather",), "gather", "output_device", owner="torch.nn.DataParallel"),
    Rule("torch", "nn/parallel/scatter_gather", (), "scatter", "device_ids", owner="torch.nn.DataParallel"),
    Rule("torch", "nn/parallel/data_parallel", (), "DataParallel", "device_ids", owner="torch.nn.DataParallel"),
    Rule("torch", "nn/parallel/distributed", (), "DistributedDataParallel", "device_ids", owner="DDP"),
    Rule("torch", "distributed/fsdp", (), "FullyShardedDataParallel", "device_id", owner="FSDP"),
    Rule("torch", "distributed/_composable", (), "fully_shard", "mesh", owner="FSDP"),
    Rule("torch", "distributed/utils", ("_to_kwargs", "_recursive_to"), "DistributedDataParallel",
         "device_ids", owner="DDP"),
)  # fmt: skip
