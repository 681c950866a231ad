"""Functions of the members slice for other slices, one module for each purpose."""
