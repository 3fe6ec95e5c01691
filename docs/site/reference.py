"""The reference: one page a header, from what Doxygen found in the headers."""
import copy
import html
import os
import pathlib
import re
import xml.etree.ElementTree as ElementTree

import pages

# Names that mean the same in every class or for every enumeration.
CONVENTIONS = {
    "operator==": "Returns true if both are equal.",
    "operator<=>": "Compares the values.",
    "operator bool": "Returns true unless the object is empty.",
    "begin": "Returns an iterator to the first element.",
    "end": "Returns the end of the elements.",
    "size": "Returns the number of elements.",
    "empty": "Returns true if there is no element.",
    "data": "Returns a pointer to the first element.",
    "native": "Returns the value of the C API.",
    "native_type": "The type of the C API.",
    "value_type": "The type of an element.",
    "difference_type": "The type of the distance between two iterators.",
    "operator*": "Returns the element.",
    "operator++": "Moves to the next element.",
    "operator|": "Returns the flags of both.",
    "make_error_code": "Returns the value as a std::error_code.",
    "iterator": "The type of an iterator over the elements.",
    "to_text": "Returns the text of a value. Does not allocate.",
    "flag_name": "Returns the name of a flag; empty if the flag is unknown.",
    "is_flag": "True for an enumeration whose values are flags.",
}


# In the order in which a program meets them; others follow.
_FOLDERS = ["device", "memory", "completion", "request", "queue", "cm", "steering", "core"]


def folder_of(header):
    """Returns the folder below include/adverb that a header belongs to."""
    return header.partition("/")[0] if "/" in header else "adverb"


def place_of(header):
    """Returns the place of a header among all: its folder's, then its name's."""
    folder = folder_of(header)
    place = _FOLDERS.index(folder) if folder in _FOLDERS else len(_FOLDERS)
    return place, folder == "adverb", header


def text_of(element):
    """Returns the text of an element and all below it."""
    return "" if element is None else " ".join("".join(element.itertext()).split())


def arguments_of(text):
    """Splits `a< b< c >, d >` into its arguments: `b< c >` and `d`."""
    _, _, inner = text.partition("<")
    arguments, depth, current = [], 0, ""
    for character in inner.rpartition(">")[0]:
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            arguments.append(current.strip())
            current = ""
        else:
            current += character
    return arguments + [current.strip()]


def is_internal(name):
    """Returns true for the names that no program may use."""
    return "detail::" in name or "::detail" in name or not name.startswith("adverb")


class Entry:
    """A name in a scope: all overloads of a function, a class, an enumeration…"""

    def __init__(self, name, scope, anchor):
        self.name, self.scope, self.anchor = name, scope, anchor
        self.members = []  # the elements of XML, in order
        self.entries = {}  # the members of a class, by name
        self.documented = False
        self.line = 0

    def add(self, element):
        """Adds an overload, or another specialisation."""
        self.members.append(element)
        self.line = self.line or int(element.find("location").get("line"))
        if has_text(element):
            self.documented = True


def has_text(element):
    """Returns true if the element has a comment."""
    return bool(text_of(element.find("briefdescription")) or
                text_of(element.find("detaileddescription")))


class Reference:
    """All public names, by header."""

    def __init__(self, folder, root):
        self.root = root
        self.headers = {}      # "queue/queue_pair.hpp": entries by name
        self.addresses = {}    # Doxygen's id: address
        self.names = {}        # "queue_pair", "cm::connect": address
        self.undocumented = []
        self.sections = []     # the entries of the search: (title, context, address, text)
        self._compounds = {}
        self._private = set()
        for file in sorted(folder.glob("*.xml")):
            if file.name == "index.xml":
                continue
            compound = ElementTree.parse(file).getroot().find("compounddef")
            if compound is None:
                continue
            self._compounds[text_of(compound.find("compoundname"))] = compound
            # In a namespace, Doxygen 1.9.8 takes a class for private that is declared as a friend.
            if compound.get("kind") in ("class", "struct"):
                for inner in compound.iter("innerclass"):
                    if inner.get("prot") != "public":
                        self._private.add(inner.get("refid"))
        for name, compound in self._compounds.items():
            self._take(name, compound)
        self.headers = dict(sorted(self.headers.items(), key=lambda item: place_of(item[0])))
        for header, entries in self.headers.items():
            self.headers[header] = dict(sorted(entries.items(), key=lambda item: item[1].line))

    def missing(self):
        """Returns a sentence for each name that is declared as public, but that Doxygen lost."""
        declared = re.findall(r"^(?:class|struct|enum class) (\w+)",
                              (self.root / "include/adverb/fwd.hpp").read_text(), re.MULTILINE)
        return [f"include/adverb/fwd.hpp: {name} is not in the reference" for name in declared
                if not name.startswith(("ibv_", "rdma_"))
                and name not in self.names and f"cm::{name}" not in self.names]

    # Collecting

    def _take(self, name, compound):
        kind = compound.get("kind")
        if kind == "file":
            for member in compound.iter("memberdef"):
                if member.get("kind") == "define" and has_text(member):
                    self._add(member, "")
        elif is_internal(name) or compound.get("id") in self._private:
            return
        elif kind == "namespace":
            for member in compound.iter("memberdef"):
                if "<" not in text_of(member.find("name")):
                    self._add(member, name)
        elif kind in ("class", "struct", "concept"):
            scope, _, plain = re.sub(r"<.*", "", name).strip().rpartition("::")
            arguments = html.unescape(tidy(html.escape(name[len(f"{scope}::{plain}"):])))
            entry = self._add(compound, scope, plain + arguments)
            if kind != "concept":
                self._members(entry, compound)

    def _add(self, element, scope, name=None):
        header = element.find("location").get("file").removeprefix("adverb/")
        name = name or text_of(element.find("name"))
        within = scope.removeprefix("adverb").removeprefix("::")
        qualified = f"{within}::{name}" if within else name
        entries = self.headers.setdefault(header, {})
        entry = entries.get(qualified)
        if entry is None:
            anchor = re.sub(r"[^\w:.~=<>!+*/%&|^-]", "", qualified)
            entry = entries[qualified] = Entry(qualified, scope, anchor)
        entry.add(element)
        self._register(element, qualified, f"{self.address_of(header)}#{entry.anchor}")
        return entry

    def _register(self, element, qualified, address):
        self.addresses.setdefault(element.get("id"), address)
        self.names.setdefault(qualified, address)
        for value in element.findall("enumvalue"):
            self.addresses[value.get("id")] = address
            self.names.setdefault(f"{qualified}::{text_of(value.find('name'))}", address)

    def _members(self, entry, compound):
        """Adds the public members of a class, with those of its bases in detail."""
        plain = re.sub(r".*::|<.*", "", entry.name)
        header = compound.find("location").get("file").removeprefix("adverb/")
        constructors = self._constructors_of_bases(compound)
        for owner, given in self._with_internal_bases(compound, []):
            base = re.sub(r".*::|<.*", "", text_of(owner.find("compoundname")))
            own = {name for name, each in entry.entries.items() if each.members}
            for member in owner.iter("memberdef"):
                name = text_of(member.find("name"))
                if member.get("kind") == "friend" and "(" not in text_of(
                        member.find("argsstring")):
                    continue
                # A structural type has public members that are none of its users' business, and
                # owners have the types of their traits.
                if (name.startswith("~") or name.endswith("_") or member.get("prot") != "public" or
                        base == "owner" and member.get("kind") == "typedef"):
                    continue
                # Doxygen may show what `using owner::owner` takes over as a member of the class.
                is_constructor = re.search(rf"\b({re.escape(name)})(< .* >)?::\1$",
                                           text_of(member.find("definition")))
                if is_constructor and name != base or owner is not compound and (
                        name not in constructors if is_constructor else name in own):
                    continue
                if owner is not compound:
                    name = plain if is_constructor else name
                    member = with_names(member, {**given, base: plain})
                if not has_text(member) and self._is_implicit(member, name, plain):
                    continue
                found = entry.entries.get(name)
                if found is None:
                    anchor = f"{entry.anchor}.{re.sub(r'[^a-zA-Z0-9_~=<>!+*/%&|^-]', '-', name)}"
                    found = entry.entries[name] = Entry(name, entry.name, anchor)
                found.add(member)
                self._register(member, f"{entry.name}::{name}",
                               f"{self.address_of(header)}#{found.anchor}")

    def _with_internal_bases(self, compound, arguments):
        """Yields the compound and its bases in detail, each with the arguments of its template."""
        parameters = [text_of(each.find("declname")) or text_of(each.find("type")).split()[-1]
                      for each in compound.findall("templateparamlist/param")]
        given = dict(zip(parameters, arguments))
        yield compound, given
        for base in compound.findall("basecompoundref"):
            if base.get("prot") != "public":
                continue
            text = given.get(text_of(base), text_of(base))
            plain = re.sub(r"<.*", "", text).strip().removeprefix("adverb::")
            plain = plain.removeprefix("cm::").removeprefix("detail::")
            for scope in ("adverb::detail::", "adverb::cm::detail::", "adverb::cm::"):
                found = self._compounds.get(scope + plain)
                if found is not None and (is_internal(scope) or plain.endswith("_base")):
                    yield from self._with_internal_bases(found, arguments_of(text))
                    break

    def _constructors_of_bases(self, compound):
        """Returns the bases whose constructors the class takes over: `using owner::owner`."""
        location = compound.find("location")
        lines = (self.root / "include" / location.get("bodyfile")).read_text().split("\n")
        body = lines[int(location.get("bodystart")) - 1:int(location.get("bodyend"))]
        return re.findall(r"using (\w+)::\1;", "\n".join(body))

    @staticmethod
    def _is_implicit(member, name, plain):
        """Returns true for what the language has for every class: copying, moving, defaults."""
        arguments = text_of(member.find("argsstring"))
        parameters = [text_of(each.find("type")) for each in member.findall("param")]
        of_same_type = len(parameters) == 1 and re.fullmatch(
            rf"(const )?{plain}( <.*>)?( ?&&?)?", parameters[0])
        return (arguments.endswith("=delete") or name == "operator=" or
                name == plain and (not parameters or bool(of_same_type)))

    def address_of(self, header):
        """Returns the address of the page of a header."""
        return f"reference/{header.removesuffix('.hpp')}.html"

    # Writing

    def link(self, code, page, scope=""):
        """Returns a code span with a link to the name that it is, or None."""
        name = re.sub(r"\(.*\)$|<.*>$", "", code).removeprefix("adverb::").removeprefix("::")
        if re.fullmatch(r"(include/adverb/|adverb/)?[\w/]+\.hpp", code):
            header = re.sub(r"^(include/)?adverb/", "", code)
            address = self.address_of(header) if header in self.headers else None
        else:
            address = None
            within = scope
            while address is None:
                address = self.names.get(f"{within}::{name}" if within else name)
                if not within:
                    break
                within = within.rpartition("::")[0]
        if address is None:
            return None
        return f"<a href='{relative(address, page)}'>{pages.code_span(code)}</a>"

    def page(self, header):
        """Returns the HTML of the page of a header."""
        page = self.address_of(header)
        entries = self.headers[header]
        summary = head_comment(self.root / "include/adverb" / header)
        source = relative(f"include/adverb/{header}.html", page)
        parts = [f"<h1>{pages.breakable(header)}</h1>\n<p>{html.escape(summary)}</p>\n"]
        if "/detail/" not in header:  # headers of detail are for other headers only
            parts.append(pages.code_block(f"#include <adverb/{header}>", "cpp"))
        parts.append(f"<p class='source'><a href='{source}'>Source</a></p>\n")
        self.sections.append((header, "Reference", page, summary))
        if len(entries) > 1:
            parts.append(self._names(entries.values(), page))
        for entry in entries.values():
            parts.append(self._entry(entry, page, header, 2))
            for member in entry.entries.values():
                parts.append(self._entry(member, page, header, 3))
        return "".join(parts)

    def folders(self):
        """Returns the headers by folder, in order."""
        folders = {}
        for header in self.headers:
            folders.setdefault(folder_of(header), []).append(header)
        return folders

    def index(self):
        """Returns the HTML of the list of all headers."""
        page = "reference/index.html"
        parts = ["<h1>Reference</h1>\n<p>One page a header, and <a href='names.html'>all names</a>. A "
                 "program includes <code>&lt;adverb/adverb.hpp&gt;</code>, and "
                 "<code>&lt;adverb/cm.hpp&gt;</code> for librdmacm.</p>\n"]
        for folder, headers in self.folders().items():
            rows = [(f"<a href='{relative(self.address_of(header), page)}'>{pages.breakable(header)}</a>",
                     html.escape(head_comment(self.root / "include/adverb" / header)))
                    for header in headers]
            parts.append(f"<h2 id='{folder}'>{folder}</h2>\n{names_table(rows)}")
        return "".join(parts)

    def all_names(self):
        """Returns the letters of the names, and the HTML of the list of all names by letter."""
        letters = {}
        for header, entries in self.headers.items():
            for each in entries.values():
                if each.name not in CONVENTIONS:
                    address = f"{relative(self.address_of(header), 'reference/names.html')}#{each.anchor}"
                    letters.setdefault(last_part(each.name)[0].lower(), []).append((each.name, address))
        parts = ["<h1>All names</h1>\n"]
        for letter, names in sorted(letters.items()):
            items = "".join(f"<li><a href='{html.escape(address)}'>{pages.code_span(name)}</a></li>\n"
                            for name, address in sorted(names, key=lambda each: last_part(each[0]).lower()))
            parts.append(f"<h2 id='{letter}'>{html.escape(letter.upper())}</h2>\n<ul class='all'>{items}</ul>\n")
        return sorted(letters), "".join(parts)

    def _names(self, entries, page):
        """Returns a table of names with the first sentences of their comments."""
        return names_table((f"<a href='#{html.escape(each.anchor)}'>"
                            f"{pages.code_span(each.name)}</a>", self._brief(each, page))
                           for each in entries)

    def _brief(self, entry, page):
        for member in entry.members:
            text = self._prose(member.find("briefdescription"), page, entry.name).strip()
            if text:
                return re.sub(r"</?p>", "", text)
        return CONVENTIONS.get(last_part(entry.name), "")

    def _entry(self, entry, page, header, level):
        scope = entry.scope if level == 3 else entry.name
        parts, signatures, texts = [], [], []

        def flush(text):
            if signatures:
                between = "\n\n" if any("\n" in each for each in signatures) else "\n"
                parts.append(f"<pre class='code signature'><code>{between.join(signatures)}"
                             "</code></pre>\n")
            parts.append(text)
            signatures.clear()

        # An overload without a comment shares that of the one before it.
        pending = ""
        for member in entry.members:
            text = self._description(member, page, scope)
            if text and signatures:
                flush(pending)
                pending = ""
            signatures.append(with_colours(self._signature(member, last_part(entry.name), page)))
            pending = pending or text
            texts.append(re.sub(r"<[^>]*>", "", text))
        plain = last_part(entry.name)
        if not entry.documented:
            if plain in CONVENTIONS:
                pending = f"<p>{CONVENTIONS[plain]}</p>\n"
            else:
                location = entry.members[0].find("location")
                self.undocumented.append(
                    f"include/{location.get('file')}:{location.get('line')}: "
                    f"{entry.scope + '::' if level == 3 else ''}{entry.name} has no comment")
        flush(pending)
        values = [value for member in entry.members for value in member.iter("enumvalue")
                  if member.get("kind") == "enum"]
        if values:
            parts.append(names_table(
                (pages.code_span(text_of(value.find("name"))),
                 pages.code_span(text_of(value.find("initializer")).removeprefix("= ")),
                 re.sub("</?p>", "", self._description(value, page, scope))) for value in values))
            texts += [text_of(value) for value in values]
        title = f"{entry.scope}::{entry.name}" if level == 3 else entry.name
        self.sections.append((title, header, f"{page}#{entry.anchor}",
                              html.unescape(" ".join(texts))))
        anchor = html.escape(entry.anchor)
        return (f"<section class='entry level{level}'>\n"
                f"<h{level} id='{anchor}'>{pages.code_span(entry.name)}</h{level}>\n"
                f"{''.join(parts)}</section>\n")

    def _linked(self, element, page):
        """Returns an element's text with its references as links."""
        if element is None:
            return ""
        parts = [html.escape(element.text or "", quote=False)]
        for child in element:
            inner = self._linked(child, page)
            address = self.addresses.get(child.get("refid"))
            parts.append(f"<a href='{relative(address, page)}'>{inner}</a>" if address else inner)
            parts.append(html.escape(child.tail or "", quote=False))
        return tidy("".join(parts))

    def _template(self, element, page):
        parameters = element.find("templateparamlist")
        text = ""
        if parameters is not None:
            each = [self._parameter(parameter, page) for parameter in parameters]
            text = f"template &lt;{', '.join(each)}&gt;\n"
        requires = element.find("requiresclause")
        if requires is not None:
            text += f"{'  ' if text else ''}requires {self._linked(requires, page).strip()}\n"
        return text

    def _parameter(self, parameter, page):
        text = self._linked(parameter.find("type"), page)
        name = text_of(parameter.find("declname"))
        if name and not re.search(rf"\b{name}$", text):
            array = text_of(parameter.find("array"))
            if array.startswith(")"):  # a function pointer or a reference to an array
                text += name + html.escape(array)
            else:
                text += f" {name}{array}"
        default = parameter.find("defval")
        if default is not None:
            text += f" = {self._linked(default, page)}"
        return text

    def _signature(self, member, name, page):
        kind = member.get("kind")
        if kind == "define":
            return f"<span class='k'>#define</span> <b>{name}</b>"
        if kind == "concept":
            body = member.find("initializer")
            return pages.highlighted("".join(body.itertext()), "cpp")
        template = self._template(member, page)
        name = f"<b>{html.escape(name)}</b>"
        if kind in ("class", "struct"):
            bases = [f"<a href='{relative(self.addresses[base.get('refid')], page)}'>"
                     f"{html.escape(text_of(base))}</a>"
                     for base in member.findall("basecompoundref")
                     if base.get("prot") == "public" and base.get("refid") in self.addresses]
            return f"{template}{kind} {name}" + (f" : {', '.join(bases)}" if bases else "")
        type_text = self._linked(member.find("type"), page)
        if kind == "enum":
            return f"enum class {name}" + (f" : {type_text}" if type_text else "")
        if kind == "typedef":
            return f"{template}using {name} = {type_text}"
        words = ["friend"] if kind == "friend" else []
        words += [word for word in ("static", "explicit") if member.get(word) == "yes"]
        if member.get("constexpr") == "yes" and "constexpr" not in type_text:
            words.append("constexpr")
        text = "".join(f"{word} " for word in [*words, type_text] if word)
        if kind == "variable":
            initial = self._linked(member.find("initializer"), page)
            between = " " if initial.startswith("=") else ""
            return f"{template}{text}{name}{between}{initial if len(initial) < 80 else ''}".rstrip()
        parameters = [self._parameter(each, page) for each in member.findall("param")]
        parameters = [each for each in parameters if each != "void"]
        plain = re.sub(r"<[^>]*>", "", f"{text}{name}({', '.join(parameters)})")
        if len(plain) > 84 and len(parameters) > 1:
            listed = "\n    " + ",\n    ".join(parameters)
        else:
            listed = ", ".join(parameters)
        return f"{template}{text}{name}({listed}){tail_of(text_of(member.find('argsstring')))}"

    def _description(self, element, page, scope):
        brief = self._prose(element.find("briefdescription"), page, scope).strip()
        detail = self._prose(element.find("detaileddescription"), page, scope).strip()
        if brief.endswith("</p>") and detail.startswith("<p>"):
            text = brief.removesuffix("</p>") + " " + detail.removeprefix("<p>")
        else:
            text = brief + detail
        return re.sub(r"\s*(Wraps: [^<]*(?:<[^>]*>[^<]*)*?)(</p>)",
                      r"</p>\n<p class='wraps'>\1\2", text) if "Wraps:" in text else text

    def _prose(self, element, page, scope):
        """Returns a comment as HTML."""
        if element is None:
            return ""
        text = html.escape(element.text or "", quote=False)
        for child in element:
            inner = self._prose(child, page, scope)
            text += self._tagged(child, inner, page, scope)
            text += html.escape(child.tail or "", quote=False)
        return text

    def _tagged(self, child, inner, page, scope):
        simple = {"bold": "b", "emphasis": "em", "itemizedlist": "ul", "orderedlist": "ol",
                  "listitem": "li", "row": "tr", "entry": "td"}
        if child.tag == "para":
            # Lists and code end a paragraph.
            blocks = re.split(r"(<(?:ul|ol|pre|div)\b.*?</(?:ul|ol|pre|div)>\n?)", inner.strip(),
                              flags=re.DOTALL)
            return "".join(block if block.startswith(("<ul", "<ol", "<pre", "<div")) else
                           f"<p>{block.strip()}</p>\n" for block in blocks if block.strip())
        if child.tag in ("verbatim", "programlisting"):
            return pages.code_block(code_of(child), "cpp")
        if child.tag == "computeroutput":
            code = text_of(child)
            return self.link(code, page, scope) or pages.code_span(code)
        if child.tag == "ref":
            address = self.addresses.get(child.get("refid"))
            return f"<a href='{relative(address, page)}'>{inner}</a>" if address else inner
        if child.tag == "ulink":
            return f"<a href='{html.escape(child.get('url'))}'>{inner}</a>"
        if child.tag == "table":
            return f"<div class='scroll'><table>{inner}</table></div>\n"
        if child.tag in simple:
            return f"<{simple[child.tag]}>{inner}</{simple[child.tag]}>"
        return {"ndash": "–", "mdash": "—", "nonbreakablespace": "\u00a0"}.get(child.tag, inner)


# The words of a signature that have a colour, by the classes of Pygments.
_WORDS = {
    "k": "alignas auto class concept const consteval constexpr decltype default delete enum explicit false "
         "friend namespace noexcept nullptr operator requires sizeof static struct template true typename using",
    "kt": "bool char double float int long short signed unsigned void",
}
_CLASS_OF_WORD = {word: kind for kind, words in _WORDS.items() for word in words.split()}


def with_colours(signature):
    """Returns the HTML of a signature with its keywords and numbers in colour, but for what has one."""
    if "<span" in signature:
        return signature

    def coloured(match):
        kind = "mi" if match[0][0].isdigit() else _CLASS_OF_WORD.get(match[0])
        return f"<span class='{kind}'>{match[0]}</span>" if kind else match[0]

    # Tags and character references stay as they are.
    parts = re.split(r"(<[^>]*>|&\w+;)", signature)
    return "".join(part if at % 2 else re.sub(r"\b\w+\b", coloured, part) for at, part in enumerate(parts))


def with_names(member, names):
    """Returns a member of a base with the names that its derived class gives to the base's."""
    member = copy.deepcopy(member)
    pattern = re.compile(rf"\b({'|'.join(names)})\b")

    def renamed(text):
        text = pattern.sub(lambda match: names[match[0]], text)
        return re.sub(r"typename [\w:]+::native_type", "native_type", text)

    for child in member.iter():
        if child.tag in ("type", "argsstring", "requiresclause", "ref"):
            child.text = renamed(child.text or "")
            child.tail = renamed(child.tail or "")
    return member


def names_table(rows):
    """Returns a table whose rows begin with a name, without empty columns."""
    columns = [column for column in zip(*rows) if any(column)]
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n"
                    for row in zip(*columns))
    return f"<div class='scroll'><table class='names'>{lines}</table></div>\n"


def last_part(name):
    """Returns a name without its scopes: `connect` of `cm::connect`."""
    return re.sub(r"^(\w+::)*", "", name)


def code_of(element):
    """Returns the text of a block of code in a comment."""
    if element.tag == "verbatim":
        return "".join(element.itertext())
    lines = []
    for line in element.iter("codeline"):
        text = ""
        for part in line.iter():
            text += (" " if part.tag == "sp" else part.text or "")
            text += "" if part is line else part.tail or ""
        lines.append(text)
    return "\n".join(lines)


def tidy(text):
    """Writes types as the sources do: `flags<Enum>`, `int*`."""
    text = re.sub(r" (&gt;)", r"\1", text.replace("&lt; ", "&lt;"))
    return re.sub(r" ((\*|&amp;)+)(?=$|&gt;|,|\)|\.)", r"\1", text)


def tail_of(arguments):
    """Returns what follows the parameters: ` const noexcept`."""
    depth = 0
    for at, character in enumerate(arguments):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            tail = re.sub(r"\s*=\s*(default|delete|0)$", r" = \1", arguments[at + 1:])
            tail = re.sub(r"(&+)noexcept", r"\1 noexcept", tail)
            return " " + html.escape(tail.strip(), quote=False) if tail.strip() else ""
    return ""


def relative(address, page):
    """Returns the way from a page of the site to an address in it."""
    return os.path.relpath(address, pathlib.PurePosixPath(page).parent)


def head_comment(file):
    """Returns the comment at the head of a header."""
    words = []
    for line in file.read_text().split("\n")[1:]:
        if not line.startswith("//"):
            break
        words.append(line.lstrip("/ "))
    return " ".join(words)
