"""The installation: settings, database, processes. No word of the domain lives here."""
