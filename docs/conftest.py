"""What of this folder has no doctests."""

collect_ignore = ["conf.py", "make_matrix.py"]
collect_ignore_glob = ["_build/*", "auto_examples/*", "api/generated/*"]
