"""What one instruction does, form by form; `table` has all of them by instruction code."""
