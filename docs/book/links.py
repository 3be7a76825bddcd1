"""A preprocessor of mdBook: makes the links of the pages, which work on a git host, work in the site.

    python3 docs/book/links.py check

checks without mdBook that each link of each page in SUMMARY.md leads to a page or a file of the site.

mdBook starts it (docs/book.toml) and passes the book as JSON. Pages outside of docs, such as ../README.md, get a place in the
site. A link to a page of the book leads to that page, a link to a file below docs stays as it is. A link to anything else in the
repository leads to ATSDB_DOCS_SOURCE, the address of the repository's files on a git host, or becomes plain text without it.
"""
import json
import os
import pathlib
import posixpath
import re
import sys

# Where a page outside of docs goes.
MOVED = {"../README.md": "index.md", "../ARCHITECTURE.md": "architecture.md", "../CHANGELOG.md": "changelog.md",
         "../examples/README.md": "example-file.md", "../python/README.md": "python-package.md", "../go/README.md": "go-package.md"}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.S | re.M)


def places(sources):
    outside = [source for source in sources if source.startswith("../") and source not in MOVED]
    if outside:
        sys.exit(f"these pages have no place in the site: {', '.join(outside)}")
    return {source: MOVED.get(source, source) for source in sources}


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


def check():
    docs = pathlib.Path(__file__).resolve().parents[1]
    sources = [target for _, _, target in LINK.findall((docs / "SUMMARY.md").read_text())]
    pages = places(sources)
    for source, place in pages.items():
        text = settle((docs / source).read_text(), source, place, pages, "")
        for _, _, target in LINK.findall("".join(FENCE.split(text)[::2])):
            path = target.partition("#")[0]
            led = posixpath.normpath(posixpath.join(posixpath.dirname(place), path))
            if path and "://" not in path and led not in pages.values() and not (docs / led).is_file():
                sys.exit(f"docs/{source}: the link {target} leads nowhere in the site")


def main():
    if sys.argv[1:2] == ["supports"]:
        return
    if sys.argv[1:2] == ["check"]:
        check()
        return
    _, book = json.load(sys.stdin)
    items = book.get("items", book.get("sections"))
    found = [chapter for chapter in chapters(items) if chapter["path"]]
    pages = places([chapter["path"] for chapter in found])
    for chapter in found:
        source, chapter["path"] = chapter["path"], pages[chapter["path"]]
        address = os.environ.get("ATSDB_DOCS_SOURCE", "")
        chapter["content"] = settle(chapter["content"], source, chapter["path"], pages, address)
    json.dump(book, sys.stdout)


main()
