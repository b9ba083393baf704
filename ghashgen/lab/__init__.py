"""Measuring and what is made of it: bench, tune, comparisons, models, tables, the report."""
