"""Who placed a tensor, where and why: the core's placement records and the source, read backwards."""
