"""How good is it? A synthetic world with exact truth, and the measures taken against it."""
