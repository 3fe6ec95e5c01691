"""Markdown pages and sources, as HTML."""
import html
import os
import pathlib
import re

import markdown_it
import pygments
import pygments.formatters
import pygments.lexers

_FORMATTER = pygments.formatters.HtmlFormatter(nowrap=True)  # pylint: disable=no-member
_LANGUAGES = {"cpp": "cpp", "sh": "bash", "bash": "bash", "cmake": "cmake", "python": "python"}


def anchor_of(title, taken):
    """Returns the id that GitHub gives to a heading, so that links work in both places."""
    plain = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    anchor, number = plain, 0
    while anchor in taken:
        number += 1
        anchor = f"{plain}-{number}"
    taken.add(anchor)
    return anchor


def highlighted(code, language):
    """Returns code as HTML with classes for its colours."""
    if language not in _LANGUAGES:
        return html.escape(code, quote=False)
    lexer = pygments.lexers.get_lexer_by_name(_LANGUAGES[language], stripnl=False)
    return pygments.highlight(code, lexer, _FORMATTER)


def breakable(name):
    """Returns a name or a path as HTML, in which a line may end after `_`, `::`, `/` and `<`."""
    return re.sub(r"(_+|::|/|&lt;)(?=.)", r"\1<wbr>", html.escape(name, quote=False))


def code_span(code):
    """Returns code within a sentence."""
    return f"<code>{breakable(code)}</code>" if code else ""


def code_block(code, language):
    """Returns a block of code. site.js adds the button that copies it."""
    text = highlighted(code.rstrip() + "\n", language)
    return f"<pre class='code'><code>{text}</code></pre>\n"


class Section:
    """An entry of the search: a heading and the text below it."""

    def __init__(self, title, anchor, level):
        self.title, self.anchor, self.level, self.text = title, anchor, level, []


class Page:
    """One file of Markdown. `content` is its HTML, `links` the files that it links to."""

    def __init__(self, root, path, resolve, name_link):
        """resolve(target): the address of a file of the tree, or None. name_link(code): the HTML of
        the name in a code span, or None."""
        self.path, self.sections, self.has_diagram = path, [], False
        self._resolve, self._name_link = resolve, name_link
        parser = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])
        tokens = parser.parse((root / path).read_text())
        taken = set()
        section = Section(path, "", 1)
        for before, token, following in zip([None] + tokens, tokens, tokens[1:] + [None]):
            if token.type == "heading_open":
                title = "".join(part.content for part in following.children)
                level = int(token.tag[1])
                anchor = anchor_of(title, taken)
                token.attrSet("id", anchor)
                section = Section(title, anchor if self.sections else "", level)
                self.sections.append(section)
            elif token.type == "inline":
                self._prepare(token.children)
                if before.type != "heading_open":
                    section.text.append("".join(
                        " " if part.type == "softbreak" else part.content
                        for part in token.children if part.type != "html_inline"))
            elif token.type in ("fence", "code_block"):
                section.text.append(token.content)
        if not self.sections:
            self.sections.append(section)
        self.title = self.sections[0].title
        rules = parser.renderer.rules
        rules["fence"] = self._fence
        rules["code_block"] = self._fence
        rules["table_open"] = lambda *_: "<div class='scroll'><table>\n"
        rules["table_close"] = lambda *_: "</table></div>\n"
        rules["code_inline"] = self._code
        rules["html_block"] = lambda tokens, at, *_: (
            "" if tokens[at].content.startswith("<!--") else tokens[at].content)
        self.content = parser.renderer.render(tokens, parser.options, {})

    def _prepare(self, parts):
        inside = False
        for part in parts:
            if part.type == "link_open":
                inside = True
                part.attrSet("href", self._address(part.attrGet("href")))
            elif part.type == "link_close":
                inside = False
            elif part.type == "image":
                part.attrSet("src", self._address(part.attrGet("src")))
            elif part.type == "code_inline":
                part.meta["in link"] = inside

    def _address(self, link):
        if re.match(r"[a-z]+:", link) or link.startswith("#"):
            return link
        target, _, anchor = link.partition("#")
        path = os.path.normpath(pathlib.PurePosixPath(self.path).parent / target)
        address = self._resolve(path)
        if address is None:
            return link  # the check of the links then reports it
        relative = os.path.relpath(address, pathlib.PurePosixPath(address_of(self.path)).parent)
        return relative + (f"#{anchor}" if anchor else "")

    def _fence(self, tokens, at, *_):
        token = tokens[at]
        language = token.info.strip()
        if language == "mermaid":
            self.has_diagram = True
            return f"<pre class='mermaid'>{html.escape(token.content, quote=False)}</pre>\n"
        return code_block(token.content, language)

    def _code(self, tokens, at, *_):
        token = tokens[at]
        link = None if token.meta.get("in link") else self._name_link(token.content)
        return link or code_span(token.content)


def address_of(path):
    """Returns the address in the site of a page of the tree."""
    if path == "README.md":
        return "index.html"
    return re.sub(r"\.md$", "", path) + ".html"


def source_page(root, path):
    """Returns a file of the tree as HTML."""
    text = (root / path).read_text()
    language = {".hpp": "cpp", ".cpp": "cpp", ".ipp": "cpp", ".py": "python"}.get(
        pathlib.PurePosixPath(path).suffix)
    if language is None and text.startswith("#!"):
        language = "python" if "python" in text.partition("\n")[0] else "sh"
    lines = highlighted(text, language).rstrip("\n").split("\n")
    numbered = "\n".join(f"<span id='L{number}' class='line'>{line}</span>"
                         for number, line in enumerate(lines, 1))
    return f"<h1>{breakable(path)}</h1>\n<pre class='code source'><code>{numbered}</code></pre>\n"
