"""What a run leaves in a file: findings, models, transfers and memory over time, written as it goes, and read back."""
