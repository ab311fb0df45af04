"""A causal model whose cache can be rolled back."""
