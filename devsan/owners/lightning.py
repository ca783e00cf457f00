"""What Lightning placed: its strategy moves the module, its connector the batches."""

from devsan.owners.stack import Rule

RULES = (
    Rule("lightning", "strategies/", (), "strategy", "root_device"),
    Rule("lightning", "device_dtype_mixin", (), "LightningModule.to"),
    Rule("lightning", "utilities/apply_func", (), "batch_to_device", "root_device"),
    Rule("lightning", "plugins/precision", (), "precision plugin"),
    Rule("lightning", "", (), "Trainer", "root_device"),
)
