"""PNG files without text chunks and color profiles: Pillow refuses those above a megabyte, and nothing reads them."""

from __future__ import annotations

SIGNATURE = b"\x89PNG\r\n\x1a\n"
TEXTS = (b"tEXt", b"zTXt", b"iTXt", b"iCCP")
ORIENTATIONS = (b"XML:com.adobe.xmp\0", b"Raw profile type exif\0")  # those that may say how it is turned
MOST = 1 << 16  # bytes of such a one; none that tells little more than an orientation is so long


def without_texts(content: bytes) -> bytes:
    """The same file, but for texts and profiles; what is no PNG, or is damaged, comes back as it is.

    As for everybody who reads a picture for its pixels (`transformers`, vLLM), a profile changes no color.
    """
    if not content.startswith(SIGNATURE):
        return content
    kept, begin, position = [], 0, len(SIGNATURE)
    while position + 12 <= len(content):
        size = int.from_bytes(content[position : position + 4])
        end, kind = position + 12 + size, content[position + 4 : position + 8]
        if kind in TEXTS and not (size <= MOST and content.startswith(ORIENTATIONS, position + 8)):
            kept.append(content[begin:position])
            begin = end
        position = end
    return b"".join([*kept, content[begin:]]) if kept else content
