"""Exact discrete noise and private selection."""
