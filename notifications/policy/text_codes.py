"""The codes of text messages (Twilio) and of Telegram's chats, with one sentence of meaning each.

Twilio's own number stands in the sentence: by it the code is looked up there.
"""

from __future__ import annotations

from typing import Final

TWILIO_CODES: Final[dict[str, str]] = {
    "twilio.bad_number": "The number is not one that can be called (21211, 21217); nothing was sent.",
    "twilio.not_mobile": "The number takes no text messages, as a landline does (21614, 21635); nothing was sent.",
    "twilio.opted_out": "The recipient has opted out by a stop word (21610): the number is blocked on this channel.",
    "twilio.no_route": "No text message of this sender can reach the number (21612); nothing was sent.",
    "twilio.trial_account": "The account is on trial and may send to verified numbers alone (21608); nothing was sent.",
    "twilio.region_not_allowed": "The account may not send to the number's country (21408); nothing was sent.",
    "twilio.sender_refused": "The account may not send from this number, name or service; nothing was sent.",
    "twilio.login_refused": "The provider refused the account's SID or its token (20003); nothing was sent.",
    "twilio.account_suspended": "The provider has suspended the account or not activated it (20005); nothing was sent.",
    "twilio.not_allowed": "The account lacks the right to send that (20403); nothing was sent.",
    "twilio.not_found": "The base URL or the account's SID is not the provider's (20404); nothing was sent.",
    "twilio.bad_callback": "The provider cannot use our public address for its reports (21609); nothing was sent.",
    "twilio.too_long": "The text is longer than the provider takes (21617); nothing was sent.",
    "twilio.content_refused": "The provider refused the text for what it holds or lacks; nothing was sent.",
    "twilio.too_many": "The provider takes no more calls for now (20429); nothing was sent.",
    "twilio.queue_full": "As many messages of this sender wait at the provider as may (21611); nothing was sent.",
    "twilio.daily_limit": "The account has sent as many messages today as it may (63038); nothing was sent.",
    "twilio.failed": "The provider failed (20500); it may have accepted the message before.",
    "twilio.unavailable": "The provider was out of service (20503); it may have accepted the message before.",
    "twilio.malformed_response": "The provider's answer names no message; it may have accepted it.",
    "twilio.not_sms": "The message was prepared for another kind of account, and cannot be sent by this one.",
}
TELEGRAM_CODES: Final[dict[str, str]] = {
    "telegram.blocked": "The recipient has blocked the bot: the chat is blocked on this channel.",
    "telegram.deactivated": "The recipient's account or group was deleted: the chat is blocked on this channel.",
    "telegram.kicked": "The bot was removed from the group or channel: the chat is blocked on this channel.",
    "telegram.chat_not_found": "The bot knows no such chat: it is blocked on this channel.",
    "telegram.migrated": "The group has become a supergroup with another number; nothing was sent.",
    "telegram.not_started": "Only the recipient can open the chat, by starting the bot; nothing was sent.",
    "telegram.no_rights": "The bot may not write in this group or channel; nothing was sent.",
    "telegram.forbidden": "The chat takes no messages of the bot, for another reason; nothing was sent.",
    "telegram.login_refused": "The provider does not know the bot's token; nothing was sent.",
    "telegram.redirected": "The base URL sends elsewhere, which is never followed; nothing was sent.",
    "telegram.too_long": "The text is longer than the provider takes; nothing was sent.",
    "telegram.content_refused": "The provider refused the text; nothing was sent.",
    "telegram.refused": "The provider refused the message for a reason that is not in the list; nothing was sent.",
    "telegram.too_many": "The provider takes no more messages of the bot for now; nothing was sent.",
    "telegram.failed": "The provider failed; it may have accepted the message before.",
    "telegram.malformed_response": "The provider's answer names no message; it may have accepted it.",
    "telegram.not_telegram": "The message was prepared for another kind of account, and cannot be sent by this one.",
}
