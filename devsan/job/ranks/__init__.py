"""What is true of each rank of a job, and what the ranks show together."""
