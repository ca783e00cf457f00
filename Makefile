# The targets of daily work. `make` alone lists them; each one prepares what it needs.
# VENV=<folder> works in another virtual environment, made with PYTHON=<python3.x>; TORCH_SPEC=torch==2.14.1 installs
# another torch.
VENV ?= .venv
export VENV TORCH_SPEC

.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help setup build demo test test-all ops frameworks suites lint format sanitize bench device-checks gpu-parity matrix clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

setup:  ## create the environment with torch, the build tools and the libraries that the tests drive
	@tools/setup.sh test

build:  ## build the core and install DevSan into the environment (editable)
	@tools/setup.sh base
	@tools/build.sh

demo: setup build  ## a script for four GPUs dies of mixed devices, on this machine, and gets its fix
	@tools/demo.sh

test: setup build  ## run the C++ unit tests and the Python tests, but for the long ones
	@tools/test.sh

test-all: setup build  ## the same with the long ones
	@tools/test.sh -m "not frameworks"

ops: setup build  ## compare every operator of torch's lists with the CPU, and its dtypes with CUDA's (about 15 minutes)
	@tools/ops.sh --write docs/reference/operators.md
	@tools/ops.sh dtypes

frameworks: setup build  ## train with real libraries in several ranks, and compare with the CPU (about 10 minutes)
	@tools/frameworks.sh

suites: setup build  ## run other projects' tests on emulated GPUs, and compare with the CPU (about 30 minutes)
	@tools/suites.sh

lint:  ## check formatting, types and the order of the layers
	@tools/setup.sh base
	@tools/lint.sh

format:  ## rewrite the sources in the project's format
	@tools/setup.sh base
	@tools/lint.sh --fix

sanitize: setup build  ## run the unit tests and the stress test under AddressSanitizer and UBSan
	@tools/sanitize.sh

bench: setup build  ## measure the costs of emulation against plain CPU
	@$(VENV)/bin/python benchmarks/run.py

device-checks: setup build  ## compare the whole matrix of mixed devices with CUDA's checks (some minutes)
	@DEVSAN_DEVICE_CHECKS=whole $(VENV)/bin/python -m pytest -q -s -m long tests/device_checks/test_matrix.py

gpu-parity: setup build  ## compare the emulation with a real GPU, or with what was recorded on one
	@$(VENV)/bin/python tools/gpu_parity

matrix:  ## build and test against every supported torch (downloads several GB for each)
	@tools/matrix.sh

clean:  ## remove the builds; the environment stays
	rm -rf build .pytest_cache .mypy_cache .ruff_cache
	rm -f $(VENV)/.devsan/installed
