raise ModuleNotFoundError("No module named 'joserfc'", name="joserfc")
