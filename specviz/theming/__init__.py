"""Theme files, and the colours that come from them."""
