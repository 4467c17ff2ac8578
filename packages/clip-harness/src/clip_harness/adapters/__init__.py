"""What stands between the flows and the outside: one module per thing outside."""
