"""What declared domains prove about every expression, and which unit owns each row."""
