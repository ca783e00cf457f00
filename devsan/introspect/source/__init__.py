"""What the source says: syntax of files, functions and expressions. Nothing here knows a running frame."""
