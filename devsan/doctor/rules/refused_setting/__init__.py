"""Settings that DeepSpeed refuses, ignores or has renamed."""
