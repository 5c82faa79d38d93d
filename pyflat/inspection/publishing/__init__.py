"""What a library ships of its twins, so that it does not need pyflat at run time: `project` reads what it asks for in
its pyproject.toml, `export` makes NumPy text of it."""
