"use strict";
const root = document.currentScript.dataset.root;

function load(file) {
  return new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = `${root}/assets/${file}`;
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  });
}

// The theme: that of the system, light or dark.

const themes = {auto: "◐", light: "☀", dark: "☾"};
const themeButton = document.getElementById("theme");
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function theme() {
  const chosen = document.documentElement.dataset.theme;
  return chosen in themes ? chosen : "auto";
}

function showTheme() {
  themeButton.textContent = themes[theme()];
  themeButton.title = `Theme: ${theme()}`;
  drawDiagrams();
}

themeButton.addEventListener("click", () => {
  const names = Object.keys(themes);
  const next = names[(names.indexOf(theme()) + 1) % names.length];
  document.documentElement.dataset.theme = next;
  try { localStorage.setItem("theme", next); } catch { /* files may have no storage */ }
  showTheme();
});
systemIsDark.addEventListener("change", showTheme);

// The diagrams, whose text stays where they cannot be drawn.

let drawing = Promise.resolve();

function drawDiagrams() {
  const diagrams = [...document.querySelectorAll("pre.mermaid")];
  if (diagrams.length === 0) return;
  drawing = drawing.then(async () => {
    if (!window.mermaid) await load("mermaid.min.js");
    const dark = theme() === "dark" || (theme() === "auto" && systemIsDark.matches);
    mermaid.initialize({startOnLoad: false, theme: dark ? "dark" : "neutral",
                        state: {nodeSpacing: 90, rankSpacing: 70}});
    for (const diagram of diagrams) {
      diagram.dataset.source ??= diagram.textContent;
      diagram.textContent = diagram.dataset.source;
      delete diagram.dataset.processed;
    }
    await mermaid.run({nodes: diagrams});
    // Wide ones shrink as long as they can be read, and then scroll.
    for (const drawn of document.querySelectorAll("pre.mermaid svg"))
      drawn.style.minWidth = `${0.7 * drawn.viewBox.baseVal.width}px`;
  }).catch(error => console.error(error));
}

// The menu of pages, on small screens.

const menuButton = document.getElementById("menu");

function showMenu(shown) {
  document.body.classList.toggle("with-menu", shown);
  menuButton.setAttribute("aria-expanded", shown);
}

menuButton.addEventListener("click", () =>
  showMenu(!document.body.classList.contains("with-menu")));
document.getElementById("content").addEventListener("click", () => showMenu(false));
const current = document.querySelector("nav.pages [aria-current]");
if (current) {
  const list = document.querySelector("nav.pages");
  list.scrollTop = current.offsetTop - list.clientHeight / 2;
}

// The headings of the page: closed where they stand above the text.

const contents = document.querySelector("nav.contents details");
const isNarrow = matchMedia("(max-width: 80rem)");

function showContents() { contents.open = !isNarrow.matches; }

if (contents) {
  showContents();
  isNarrow.addEventListener("change", showContents);
}

// The search: every word has to be in the title or the text of a section.

const input = document.getElementById("search");
const results = document.getElementById("results");
const shownAtMost = 30;

function escaped(text) {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);
}

function marked(text, words) {
  const pattern = words.map(word => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  return text.split(new RegExp(`(${pattern})`, "gi"))
    .map((part, at) => at % 2 ? `<mark>${escaped(part)}</mark>` : escaped(part)).join("");
}

function score(title, text, words, query) {
  const plain = title.toLowerCase();
  let sum = plain === query || plain.endsWith(`::${query}`) ? 1000 : 0;
  for (const word of words) {
    const at = plain.indexOf(word);
    if (at === 0) sum += 120;
    else if (at > 0) sum += 80;
    const occurrences = text.split(word).length - 1;
    if (at < 0 && occurrences === 0) return 0;
    sum += Math.min(occurrences, 10);
  }
  if (words.length > 1 && text.includes(query)) sum += 40;
  return sum - plain.length / 20;
}

// Begins and ends between two words.
function excerpt(text, words) {
  const found = words.map(word => text.toLowerCase().indexOf(word)).filter(at => at >= 0);
  let from = Math.max(0, Math.min(...found, text.length) - 60);
  if (from > 0) from = text.indexOf(" ", from) + 1;
  let end = Math.min(text.length, from + 180);
  if (end < text.length) end = Math.max(text.lastIndexOf(" ", end), from + 1);
  return (from > 0 ? "… " : "") + text.slice(from, end) + (end < text.length ? " …" : "");
}

function find() {
  const query = input.value.trim().toLowerCase();
  const words = query.split(/\s+/).filter(Boolean);
  results.hidden = words.length === 0;
  if (results.hidden || !window.searchIndex) return;
  const found = searchIndex
    .map(row => [score(row[0], row[3].toLowerCase(), words, query), ...row])
    .filter(row => row[0] > 0)
    .sort((one, other) => other[0] - one[0]);
  results.innerHTML = found.length === 0 ? "<p>Nothing was found.</p>" :
    found.slice(0, shownAtMost).map(([, title, context, address, text]) =>
      `<a role="option" href="${root}/${escaped(address)}"><b>${marked(title, words)}</b> ` +
      `<small>${escaped(context)}</small><p>${marked(excerpt(text, words), words)}</p></a>`).join("") +
    (found.length > shownAtMost ? `<p>${found.length - shownAtMost} more: add a word.</p>` : "");
}

function select(step) {
  const all = [...results.querySelectorAll("a")];
  if (all.length === 0) return;
  const old = all.findIndex(each => each.getAttribute("aria-selected") === "true");
  const next = Math.max(0, Math.min(all.length - 1, old + step));
  all[old]?.removeAttribute("aria-selected");
  all[next].setAttribute("aria-selected", "true");
  all[next].scrollIntoView({block: "nearest"});
}

function closeSearch() {
  results.hidden = true;
  input.blur();
}

input.addEventListener("focus", async () => {
  if (!window.searchIndex) await load("index.js");
  find();
});
input.addEventListener("input", find);
results.addEventListener("click", closeSearch);
document.addEventListener("pointerdown", event => {
  if (!results.contains(event.target) && event.target !== input) results.hidden = true;
});
document.addEventListener("keydown", event => {
  if (event.key === "/" && document.activeElement !== input) {
    event.preventDefault();
    input.focus();
  } else if (event.key === "Escape") {
    showMenu(false);
    closeSearch();
  } else if (document.activeElement === input && !results.hidden) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      select(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter") {
      (results.querySelector("a[aria-selected='true']") ?? results.querySelector("a"))?.click();
    }
  }
});

// The buttons that copy code.

for (const code of document.querySelectorAll("pre.code:not(.source)")) {
  const block = document.createElement("div");
  block.className = "block";
  code.replaceWith(block);
  const button = document.createElement("button");
  button.className = "copy";
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
  });
  block.append(code, button);
}

showTheme();
