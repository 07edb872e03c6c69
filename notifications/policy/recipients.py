"""Recipients' addresses: the one form that we keep and send, and the one that people see."""

from __future__ import annotations

import re

# RFC 5321 section 4.5.3.1 and RFC 3696 erratum 1690: 64 octets before the @, 254 in all.
MAX_ADDRESS = 254
MAX_LOCAL = 64

# RFC 5322 section 3.2.3, dot-atom. Quoted local parts are legal and in practice always a mistake.
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
# What nearly every address looks like; all that this takes, the careful way gives back unchanged.
_PLAIN = re.compile(r"[A-Za-z0-9_+-]{1,32}(?:\.[A-Za-z0-9_+-]{1,15})?@(?:[a-z0-9]{1,30}\.){1,4}[a-z]{2,12}")
_BLANKS = " \t\u00a0"
_DOT = "\u2022"
_DIGITS = re.compile(r"\+[0-9]{8,15}")
# ITU-T E.164, the list of assigned country codes (Operational Bulletin No. 1302): 1 and 7, these of two digits, and
# three digits for all the others.
_COUNTRY = re.compile(r"\+(?:[17]|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|[0-9]{3})")


class InvalidAddress(ValueError):
    """The text is not one mailbox that mail can be sent to; `reason` is a sentence that says how to mend it.

    The reason never repeats the address: it is shown and logged where addresses may not be.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def normalise_address(text: object) -> str:
    """Give the address as we keep and send it: trimmed, domain in lower-case ASCII, local part untouched.

    Raises InvalidAddress. Only a bare `local@domain` is taken: a display name, a second address or a line break
    would change who receives the message.
    """
    if not isinstance(text, str):
        raise InvalidAddress("The address must be text, for example ana@example.com.")
    return text if _PLAIN.fullmatch(text) else _examined(text)


def _examined(text: str) -> str:
    address = text.strip(_BLANKS)
    _refuse_what_is_not_one_mailbox(address)
    local, _, domain = address.rpartition("@")
    if not local or not domain:
        raise InvalidAddress("The address must have a part before and a part after the @, for example ana@example.com.")
    if len(local) > MAX_LOCAL:
        raise InvalidAddress(f"The part before the @ has more than {MAX_LOCAL} characters; shorten it.")
    if not local.isascii():
        raise InvalidAddress("The part before the @ must be plain ASCII; not all mail servers take anything else.")
    if not _LOCAL.fullmatch(local):
        raise InvalidAddress("The part before the @ holds a character or a dot that cannot stand there.")
    whole = f"{local}@{_ascii_domain(domain)}"
    if len(whole) > MAX_ADDRESS:
        raise InvalidAddress(f"The address has more than {MAX_ADDRESS} characters; no mail server takes it.")
    return whole


def _refuse_what_is_not_one_mailbox(address: str) -> None:
    if not address:
        raise InvalidAddress("The address is empty; give one, for example ana@example.com.")
    # Bounds the work on hostile input; the exact limit is checked on the ASCII form.
    if len(address) > MAX_ADDRESS:
        raise InvalidAddress(f"The address has more than {MAX_ADDRESS} characters; no mail server takes it.")
    if not address.isprintable():
        raise InvalidAddress("The address holds a line break or another control character; remove it.")
    if any(mark in address for mark in '<>"()'):
        raise InvalidAddress("Give the bare address, without a name, quotes or brackets: ana@example.com.")
    if any(mark in address for mark in ",;"):
        raise InvalidAddress("Give one address only; enqueue one notification for each recipient.")
    if " " in address:
        raise InvalidAddress("The address holds a blank; remove it.")
    if address.count("@") != 1:
        raise InvalidAddress("The address must hold exactly one @, for example ana@example.com.")


def _ascii_domain(domain: str) -> str:
    """Give the domain in ASCII (IDNA where needed), lower case. Raises InvalidAddress."""
    try:
        plain = domain if domain.isascii() else domain.encode("idna").decode("ascii")
    except UnicodeError:
        raise InvalidAddress("The domain after the @ cannot be written in ASCII; check its spelling.") from None
    labels = plain.split(".")
    if len(labels) < 2:
        raise InvalidAddress("The domain after the @ needs a dot, for example example.com.")
    if not all(_LABEL.fullmatch(label) for label in labels):
        raise InvalidAddress("The domain after the @ is not a host name; check its spelling.")
    if labels[-1].isdigit():
        raise InvalidAddress("The domain after the @ must be a name, not a number.")
    return plain.lower()


def mask(address: str) -> str:
    """Give what people may see of an address: `jane@example.com` becomes `j•••@e•••.com`.

    Any text may come in, and no more than its first letters and the top-level domain go out. Of an address that is
    called, whose path may be a secret, `https://h•••.com`; of a phone's, its country and the last two digits,
    `+44•••23`; of a chat, `1•••` or `@a•••`.
    """
    if _DIGITS.fullmatch(address):
        country = _COUNTRY.match(address)
        return f"{country[0] if country else '+'}{_DOT * 3}{address[-2:]}"
    scheme, called, rest = address.partition("://")
    if called and scheme in ("http", "https"):
        return f"{scheme}://{_masked_host(re.split('[/?#]', rest)[0].rpartition('@')[2])}"
    local, at, domain = address.rpartition("@")
    if not at:
        return _first(address)
    if not local and domain and "." not in domain:
        return f"@{_first(domain)}"
    return f"{_first(local)}@{_masked_host(domain)}"


def _masked_host(host: str) -> str:
    name, dot, ending = host.rpartition(".")
    if not dot:
        return _first(host)
    return f"{_first(name)}.{ending if ending.isascii() and ending.isalnum() else _DOT * 3}"


def _first(part: str) -> str:
    head = part[:1]
    return (head if head.isprintable() else "") + _DOT * 3
