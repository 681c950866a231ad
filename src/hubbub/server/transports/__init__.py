"""The doors: HTTP, gateway and the others. They know no resource by name."""
