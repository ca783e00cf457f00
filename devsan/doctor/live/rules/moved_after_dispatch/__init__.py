"""Hooks of one owner around weights of another."""
