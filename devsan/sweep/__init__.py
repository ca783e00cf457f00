"""One program over a matrix: GPUs, parameters, environments, interpreters; failures grouped by their cause."""
