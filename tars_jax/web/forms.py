"""The two kinds of forms that clients send (URL standard, RFC 7578), the body being there as a whole."""

from __future__ import annotations

import dataclasses
from email.message import Message
from urllib.parse import parse_qsl

from tars_jax import InputError

MOST_PARTS = 64


@dataclasses.dataclass(frozen=True)
class FormPart:
    """A field of a form."""

    data: bytes
    filename: str = ""  # as the client names it; empty: it is no file


def read_form(content_type: str, body: bytes) -> dict[str, bytes]:
    """The fields of a form by their names. Raises InputError for a body that is none."""
    return {name: part.data for name, part in read_parts(content_type, body).items()}


def read_parts(content_type: str, body: bytes) -> dict[str, FormPart]:
    """The fields of a form with the names of files. Raises InputError for a body that is none."""
    header = Message()
    header["Content-Type"] = content_type
    match header.get_content_type():
        case "application/x-www-form-urlencoded":
            pairs = parse_qsl(body.decode("latin-1"), keep_blank_values=True, max_num_fields=MOST_PARTS)
            return {name: FormPart(value.encode("utf-8", "replace")) for name, value in pairs}
        case "multipart/form-data":
            return _parts(str(header.get_param("boundary", "")), body)
        case kind:
            raise InputError(f"the body must be a form; got {kind[:80]!r}")


def _parts(boundary: str, body: bytes) -> dict[str, FormPart]:
    if not 1 <= len(boundary) <= 70:
        raise InputError("the form must have a boundary of 1 to 70 characters")
    mark = b"\r\n--" + boundary.encode("latin-1", "replace")
    pieces = (b"\r\n" + body).split(mark, MOST_PARTS + 1)
    if len(pieces) > MOST_PARTS + 1 or not pieces[-1].startswith(b"--"):
        raise InputError(f"the form must end with its boundary, after at most {MOST_PARTS} parts")
    fields: dict[str, FormPart] = {}
    for piece in pieces[1:-1]:
        head, found, data = piece.partition(b"\r\n\r\n")
        header = Message()
        for line in head.decode("utf-8", "replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip().lower() == "content-disposition":
                header["Content-Disposition"] = value.strip()
        field = header.get_param("name", header="content-disposition")
        if not found or not isinstance(field, str):
            raise InputError("each part of the form must have a name")
        filename = header.get_filename()
        fields[field] = FormPart(data, filename if isinstance(filename, str) else "")
    return fields
