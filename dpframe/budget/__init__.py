"""What a release costs, what a session may spend, and the ledger that remembers."""
