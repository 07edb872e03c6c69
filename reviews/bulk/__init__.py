"""Like cases decided together: a plan on a frozen list, then a run that a worker carries out, and its outcomes."""
