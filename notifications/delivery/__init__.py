"""The leased loop: claim, send, record. Nothing here is called by the layers below."""
