"""Conversion of the Markdown report to one HTML page with its own style sheet."""

from __future__ import annotations

import html
import re

from markdown_it import MarkdownIt

_STYLE = """\
:root { --ink: #1d2430; --soft: #5d6675; --line: #dfe3e8; --back: #ffffff; --band: #f6f7f9; --link: #0b62a3; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 2rem 1.5rem 5rem; color: var(--ink);
  background: var(--back); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Arial, sans-serif; }
p, li { max-width: 50rem; }
p:has(img) { max-width: none; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 .75rem; max-width: 46rem; }
h2 { font-size: 1.3rem; margin: 3rem 0 .75rem; padding-top: .75rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
a { color: var(--link); }
nav { margin: 1.25rem 0 0; font-size: .9rem; }
nav a { margin-right: 1.1rem; white-space: nowrap; text-decoration: none; }
nav a:hover { text-decoration: underline; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .8rem; line-height: 1.45; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .45rem .8rem .45rem 0;
  border-bottom: 1px solid var(--line); }
thead th { border-bottom: 1.5px solid var(--ink); border-top: 1.5px solid var(--ink); }
td { white-space: nowrap; }
td:first-child { font-weight: 600; }
/* The table of claims has sentences. */
#claims + .wide td { white-space: normal; min-width: 9rem; }
#claims + .wide td:nth-child(2) { min-width: 26rem; }
/* Long words: what was chosen in a run, and the versions, fourth of seven columns. */
details td:last-child { white-space: normal; min-width: 22rem; }
td:nth-child(4):nth-last-child(4) { white-space: normal; min-width: 16rem; }
td:first-child, th:first-child { padding-left: .4rem; position: sticky; left: 0; background: var(--back); }
tbody tr:hover td { background: var(--band); }
td em { color: var(--soft); }
td strong { color: #b3261e; }
td code { font-size: .92em; }
table + ol, .wide + ol { font-size: .82rem; color: var(--soft); padding-left: 1.4rem; }
sup { line-height: 0; font-size: .75em; color: var(--link); }
code { font: .88em ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { background: var(--band); padding: .8rem 1rem; overflow-x: auto; border-radius: 4px; font-size: .85rem; }
pre code { font-size: 1em; }
img { display: block; max-width: 100%; height: auto; margin: 1.25rem 0; }
details { border-bottom: 1px solid var(--line); padding: .35rem 0; }
summary { cursor: pointer; font-weight: 600; }
@media print { body { max-width: none; } details > * { display: block; } }
"""


def page(markdown: str) -> str:
    """Return the HTML page, which is also well-formed XML."""
    body = MarkdownIt("commonmark", {"html": True, "xhtmlOut": True}).enable("table").render(markdown)
    # Wide tables scroll separately from the page.
    body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
    body, contents = _with_anchors(body)
    title = re.search(r"<h1>(.*?)</h1>", body)
    body = body.replace("</h1>", f"</h1>\n<nav>{contents}</nav>", 1)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8" />\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1" />\n'
        f"<title>{title[1] if title else 'Benchmarks'}</title>\n"
        f"<style>\n{_STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )


def _with_anchors(body: str) -> tuple[str, str]:
    """Add anchors to the second-level headings; also return links to them."""
    links = []

    def anchored(match: re.Match[str]) -> str:
        plain = html.unescape(re.sub(r"<[^>]+>", "", match[1]))
        name = "-".join(re.findall(r"[a-z0-9]+", plain.lower()))
        links.append(f'<a href="#{name}">{match[1]}</a>')
        return f'<h2 id="{name}">{match[1]}</h2>'

    body = re.sub(r"<h2>(.*?)</h2>", anchored, body)
    return body, "\n".join(links)
