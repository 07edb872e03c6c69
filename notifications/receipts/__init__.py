"""Receipts: what providers say about a message after they took it."""
