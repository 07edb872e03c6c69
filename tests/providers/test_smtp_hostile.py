"""Whatever a server says at whatever step, the adapter neither raises nor believes more than was said."""

from __future__ import annotations

import asyncio
import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from notifications.providers.base import Request
from notifications.providers.smtp import SmtpProvider
from notifications.states import Outcome
from tests.providers.attempts import MESSAGE
from tests.providers.scripted_server import scripted
from tests.providers.smtp_server import saying, smtp

STEPS = st.sampled_from(["greeting", "ehlo", "mail", "rcpt", "data", "dot"])
REPLIES = st.builds(
    lambda code, mark, text: b"%d%b%b\r\n" % (code, mark, text),
    st.integers(0, 999),
    st.sampled_from([b" ", b"-", b"", b"\t"]),
    st.sampled_from(
        [b"ok", b"5.1.1 no", b"4.7.1 later", b"2.0.0 yes", b"9.9.9", b"\xff\x00", b"SIZE 1", b"SIZE 99999999999"]
    ),
)
SAID = st.binary(max_size=60) | st.lists(REPLIES, min_size=1, max_size=4).map(b"".join)


@settings(max_examples=120, deadline=None)
@given(step=STEPS, said=SAID)
@example(step="data", said=b"354 go\r\n250 taken\r\n")
@example(step="rcpt", said=b"250 ok\r\n354 go\r\n250 taken\r\n")
@example(step="dot", said=b"250-half\r\n")
@example(step="dot", said=b"250-no\r\n550 5.1.1 after all\r\n")
def test_nothing_is_accepted_that_was_not_taken_and_nothing_taken_is_called_not_sent(step: str, said: bytes) -> None:
    """A server that has the whole message and said neither no nor yes is an unknown, never less."""

    async def play() -> None:
        async with scripted(smtp(**{step: saying(said, then="wait" if step == "dot" else "hang_up")})) as server:
            provider = SmtpProvider(base_url=f"smtp+cleartext://127.0.0.1:{server.port}", password="")
            result = await provider.send(Request("k", provider.prepare(MESSAGE), 0.25, lambda: None))
            await provider.close()
            assert len(server.requests) == (1 if step == "dot" else 0)
            if step != "dot" and not (step == "data" and re.search(rb"(?m)^3[0-9][0-9]", said)):
                # After a 354 the dot may have gone into a connection that was just being closed.
                assert result.outcome in (Outcome.NOT_SENT, Outcome.REJECTED)
            if result.outcome is Outcome.ACCEPTED:
                assert re.search(rb"(?m)^2[0-9][0-9]", said)
            if result.outcome in (Outcome.NOT_SENT, Outcome.REJECTED) and step == "dot":
                assert re.search(rb"(?m)^[45][0-9][0-9]", said)

    asyncio.run(play())
