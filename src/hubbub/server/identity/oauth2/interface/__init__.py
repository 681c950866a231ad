"""Functions of the oauth2 slice for other slices, one module for each purpose."""
