"""Families of distributions."""
