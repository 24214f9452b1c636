"""HTML from stdin as Markdown: a program of its own, which runs inside of the computer that the HTML is of."""

import html.parser
import re
import sys

BLOCKS = {"p", "div", "section", "article", "main", "ul", "ol", "table", "tr", "blockquote", "form", "header", "footer"}
HEADINGS = {f"h{level}": f"{'#' * level} " for level in range(1, 7)}
MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*", "code": "`"}
SILENT = {"title", "script", "style", "head", "template", "noscript"}


class Markdown(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.written: list[str] = []
        self._silent = self._preformatted = 0
        self._lists: list[int | None] = []  # numbers of ordered ones
        self._links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self._silent += tag in SILENT
        if self._silent:
            return
        if tag in BLOCKS or tag in HEADINGS:
            self.written.append(f"\n\n{HEADINGS.get(tag, '')}" if tag != "tr" else "\n")
        if tag in ("ul", "ol"):
            self._lists.append(1 if tag == "ol" else None)
        elif tag == "li":
            number = self._lists[-1] if self._lists else None
            self.written.append(f"\n{'  ' * (len(self._lists) - 1)}{f'{number}.' if number else '-'} ")
            if number:
                self._lists[-1] = number + 1
        elif tag in ("td", "th"):
            self.written.append("| ")
        elif tag == "br":
            self.written.append("\n")
        elif tag == "hr":
            self.written.append("\n\n---\n\n")
        elif tag == "pre":
            self._preformatted += 1
            self.written.append("\n\n```\n")
        elif tag == "img":
            self.written.append(f"![{given.get('alt') or ''}]({given.get('src') or ''})")
        elif tag == "a":
            self._links.append(given.get("href") or "")
            self.written.append("[")
        elif tag in MARKS and not self._preformatted:
            self.written.append(MARKS[tag])

    def handle_endtag(self, tag: str) -> None:
        if tag in SILENT:
            self._silent = max(self._silent - 1, 0)
        elif self._silent:
            return
        elif tag == "pre":
            self._preformatted = max(self._preformatted - 1, 0)
            self.written.append("\n```\n\n")
        elif tag == "a" and self._links:
            self.written.append(f"]({self._links.pop()})")
        elif tag in ("ul", "ol") and self._lists:
            self._lists.pop()
            self.written.append("\n\n")
        elif tag in MARKS and not self._preformatted:
            self.written.append(MARKS[tag])
        elif tag in BLOCKS or tag in HEADINGS:
            self.written.append(" |" if tag == "tr" else "\n\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.written.append(data if self._preformatted else re.sub(r"\s+", " ", data))


def markdown(text: str) -> str:
    parser = Markdown()
    parser.feed(text)
    parser.close()
    lines = [line if line.strip() else "" for line in "".join(parser.written).split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(markdown(sys.stdin.read()))
