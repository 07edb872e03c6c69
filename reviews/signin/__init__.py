"""How people get in and stay in: wrong passwords, the second factor, the end of a session."""
