"""What is no test: scripts that run in the environments of other libraries."""

collect_ignore = ["peers"]
