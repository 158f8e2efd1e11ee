"""All that is jitted."""
