"""Connections that a serving process keeps for its threads: a database engine of Django's (`notifyops.kept`)."""
