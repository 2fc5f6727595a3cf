"""One script per peer of `accuracy.py`, each run by the interpreter of that peer's environment."""
