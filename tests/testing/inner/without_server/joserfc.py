raise ModuleNotFoundError("No module named 'joserfc'")
