"""The query as a frozen tree: no data, no noise, no engine."""
