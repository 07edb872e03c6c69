"""The outcomes feed as signed webhooks: what `/outcomes` gives, pushed to those who ask for it."""
