"""NVML: what ``pynvml`` tells of the emulated GPUs."""
