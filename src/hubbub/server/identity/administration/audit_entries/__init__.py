"""The audit log of operators, and its entries about rejected uploads."""
