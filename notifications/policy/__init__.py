"""Pure rules of delivery: values in, a decision out. No database, no settings, no clock, no sockets."""
