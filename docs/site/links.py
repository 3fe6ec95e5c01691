"""The check of the links inside the site."""
import html.parser
import os
import urllib.parse


class _Reader(html.parser.HTMLParser):
    """Collects the links and the ids of a page."""

    def __init__(self):
        super().__init__()
        self.links, self.ids = [], set()

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.add(value)
            elif name in ("href", "src"):
                self.links.append((tag, value))


def broken(site):
    """Returns a sentence for each link of a page that leads nowhere, and for each host that a page
    would contact by itself."""
    readers = {}
    for file in site.rglob("*.html"):
        reader = readers[str(file.relative_to(site))] = _Reader()
        reader.feed(file.read_text())
    faults = []
    for page, reader in sorted(readers.items()):
        for tag, link in dict.fromkeys(reader.links):
            scheme = urllib.parse.urlsplit(link).scheme
            if scheme:
                if tag != "a" and scheme != "data":
                    faults.append(f"{page}: <{tag}> contacts {link}")
                continue
            path, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if not (site / target).is_file():
                faults.append(f"{page}: nothing is at {link}")
            elif anchor and urllib.parse.unquote(anchor) not in readers[target].ids:
                faults.append(f"{page}: {target} has no {urllib.parse.unquote(anchor)}, in {link}")
    return faults
