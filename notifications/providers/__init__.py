"""Adapters to the outside world: each turns one message into one network attempt and one honest result."""
