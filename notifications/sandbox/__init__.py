"""A faithful local stand-in for the Resend API, with faults on request and a ledger of what was really accepted.

It is the outside world: it knows nothing of intents, settings or the database, and speaks only HTTP. Everything runs
on one event loop, so a check and the change that follows it are never interleaved with another request's; a real
provider has to lock where this one only has to avoid an `await`.
"""
