"""What templates of the API's page ask for."""
