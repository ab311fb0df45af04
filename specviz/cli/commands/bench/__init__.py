"""`specviz bench`."""
