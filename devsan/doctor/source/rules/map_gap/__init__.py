"""Placement lists and device maps that leave modules out."""
