"""Deliver notifications whose story can be rebuilt."""
