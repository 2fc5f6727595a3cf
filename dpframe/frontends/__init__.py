"""What users write, turned into a plan."""
