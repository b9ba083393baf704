"""Measuring and evaluating: bench, tune, comparisons, models, tables, the report."""
