"""What diffusers placed: a pipeline's move or offload of its components."""

from devsan.owners.stack import Rule

RULES = (
    Rule("diffusers", "", ("enable_model_cpu_offload", "enable_sequential_cpu_offload"), "offload",
         "enable_model_cpu_offload()"),
    Rule("diffusers", "hooks/", (), "hook"),
    Rule("diffusers", "pipelines/", ("to",), "DiffusionPipeline.to"),
    Rule("diffusers", "schedulers/", (), "scheduler"),
    Rule("diffusers", "loading_utils", (), "from_pretrained", "device_map", loads=True),
)  # fmt: skip
