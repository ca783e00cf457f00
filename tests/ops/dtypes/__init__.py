"""Compares which dtypes operators take on an emulated GPU with torch's own list for CUDA (`python -m dtypes`)."""
