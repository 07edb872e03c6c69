"""HTTP API v1: the SQL functions for callers that cannot share a transaction with us, behind tokens."""
