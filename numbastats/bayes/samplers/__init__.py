"""Samplers, a file each: a state, how it starts, and one step."""
