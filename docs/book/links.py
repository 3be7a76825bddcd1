"""A preprocessor of mdBook: makes the links of the pages, which work on a git host, work in the site.

mdBook starts it (docs/book.toml) and passes the book as JSON. Pages outside of docs, such as ../README.md, get a place in the
site. A link to a page of the book leads to that page, a link to a file below docs stays as it is. A link to anything else in the
repository leads to ATSDB_DOCS_SOURCE, the address of the repository's files on a git host, or becomes plain text without it.
"""
import json
import os
import posixpath
import re
import sys

# Where a page outside of docs goes.
MOVED = {"../README.md": "index.md", "../ARCHITECTURE.md": "architecture.md", "../CHANGELOG.md": "changelog.md",
         "../examples/README.md": "example-file.md"}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.S | re.M)


def chapters(items):
    for item in items:
        if isinstance(item, dict) and "Chapter" in item:
            yield item["Chapter"]
            yield from chapters(item["Chapter"]["sub_items"])


def settle(text, source, place, pages, address):
    """The text of a page with its links settled: the page's path in the repository's docs, and in the site."""
    def link(match):
        mark, title, target = match.groups()
        path, _, anchor = target.partition("#")
        if not path or "://" in path:
            return match.group(0)
        found = posixpath.normpath(posixpath.join("docs", posixpath.dirname(source), path))
        below = posixpath.relpath(found, "docs")
        if below in pages or found.startswith("docs/"):
            led = posixpath.relpath(pages.get(below, below), posixpath.dirname(place) or ".")
            return f"{mark}[{title}]({led}{'#' + anchor if anchor else ''})"
        return f"[{title}]({address.rstrip('/')}/{found})" if address else title
    # What stands in fences is no link.
    parts = FENCE.split(text)
    parts[::2] = [LINK.sub(link, part) for part in parts[::2]]
    return "".join(parts)


def main():
    if sys.argv[1:2] == ["supports"]:
        return
    _, book = json.load(sys.stdin)
    items = book.get("items", book.get("sections"))
    found = [chapter for chapter in chapters(items) if chapter["path"]]
    pages = {chapter["path"]: MOVED.get(chapter["path"], chapter["path"]) for chapter in found}
    for chapter in found:
        source, chapter["path"] = chapter["path"], pages[chapter["path"]]
        address = os.environ.get("ATSDB_DOCS_SOURCE", "")
        chapter["content"] = settle(chapter["content"], source, chapter["path"], pages, address)
    json.dump(book, sys.stdout)


main()
