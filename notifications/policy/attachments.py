"""What may be attached to a message: names, media types and sizes. The same as sql/attachments_v1.sql."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

MOST_FILES: Final = 10
# Of all together, before any encoding: in base64 that is 33 MB, and real providers take 40 at most.
MOST_BYTES: Final = 25_000_000
# Of those whose bytes come with the call: they travel through the caller's own transaction.
MOST_GIVEN_BYTES: Final = 10_000_000
MOST_LINK: Final = 4000
ANY_TYPE: Final = "application/octet-stream"

# An ending and the media types that go with it, the usual one first.
_LIST: Final = """
pdf application/pdf
rtf application/rtf text/rtf
txt text/plain
log text/plain
csv text/csv
tsv text/tab-separated-values
md text/markdown
html text/html
htm text/html
ics text/calendar
vcf text/vcard
xml application/xml text/xml
json application/json
yaml application/yaml
zip application/zip
gz application/gzip
7z application/x-7z-compressed
tar application/x-tar
doc application/msword
xls application/vnd.ms-excel
ppt application/vnd.ms-powerpoint
docx application/vnd.openxmlformats-officedocument.wordprocessingml.document
xlsx application/vnd.openxmlformats-officedocument.spreadsheetml.sheet
pptx application/vnd.openxmlformats-officedocument.presentationml.presentation
odt application/vnd.oasis.opendocument.text
ods application/vnd.oasis.opendocument.spreadsheet
odp application/vnd.oasis.opendocument.presentation
epub application/epub+zip
p7s application/pkcs7-signature
png image/png
jpg image/jpeg
jpeg image/jpeg
gif image/gif
webp image/webp
svg image/svg+xml
tif image/tiff
tiff image/tiff
bmp image/bmp
heic image/heic
avif image/avif
mp3 audio/mpeg
wav audio/wav audio/x-wav
ogg audio/ogg
m4a audio/mp4
mp4 video/mp4
mov video/quicktime
webm video/webm
"""
MEDIA_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    ending: tuple(types) for ending, *types in (line.split() for line in _LIST.split("\n") if line)
}
_NOT_IN_NAMES: Final = re.compile(
    '[/\\\\:*?"<>|\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ufffd\ud800-\udfff]|^[ .]|[ .]$'
)


def is_plain_name(name: str) -> bool:
    """Say whether it is one plain file name: no folder, and nothing that could end a header or turn what is read."""
    return 0 < len(name) <= 120 and _NOT_IN_NAMES.search(name) is None and len(name.encode()) <= 240


def ending_of(name: str) -> str:
    """Give what stands behind the last dot, in lower case; empty where there is none."""
    return name.rpartition(".")[2].lower() if "." in name else ""


def media_types_of(name: str) -> tuple[str, ...]:
    """Give the media types that a file of that name may have, the usual one first."""
    return MEDIA_TYPES.get(ending_of(name), (ANY_TYPE,))


def encoded_bytes(sizes: Iterable[int]) -> int:
    """Give how many bytes files of these sizes have in base64, all together."""
    return sum(-(-size // 3) * 4 for size in sizes)
