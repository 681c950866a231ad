"""Collect the code blocks, their commands, and the inline code of the Markdown pages."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.contract.language import ROOT

OUTPUT_LANGUAGE: Final = "text"
"""The language of blocks that show output, a diagram or a template to fill in."""

_MARKDOWN: Final = MarkdownIt("commonmark").enable("table")
_FILE_NAME_PATTERN: Final = re.compile(r"# ([\w./-]+\.\w+)\n")
_FOLDERS: Final = ("bench", "changes", "docs", "examples", "src", "tests")


class Block(NamedTuple):
    """A code block of a page."""

    page: str
    line: int
    language: str
    text: str
    comment: str
    """The HTML comment before the block, or an empty string."""

    @property
    def file_name(self) -> str | None:
        """The file that the block is the content of, if its first line is a comment with a file name."""
        match = _FILE_NAME_PATTERN.match(self.text)
        return None if match is None else match[1]

    @property
    def location(self) -> str:
        """The page and line of the block, for messages."""
        return f"{self.page}:{self.line}"


class Command(NamedTuple):
    """A command of a console block."""

    text: str
    output: str
    """The output that the page shows, in which `...` stands for any text; empty if it shows none."""


def pages() -> list[str]:
    """Return the paths of the Markdown pages in the root folder and below the folders of `_FOLDERS`."""
    paths = [*ROOT.glob("*.md"), *(path for folder in _FOLDERS for path in (ROOT / folder).rglob("*.md"))]
    return sorted(path.relative_to(ROOT).as_posix() for path in paths if "node_modules" not in path.parts)


def blocks(page: str) -> list[Block]:
    """Return the code blocks of a page, also the indented ones, in order."""
    page_blocks, comment = [], ""
    for token in _tokens(page):
        if token.type in ("fence", "code_block"):
            line = 1 + (token.map or [0])[0]
            page_blocks.append(Block(page, line, token.info.strip(), token.content, comment))
        comment = token.content.strip() if token.type == "html_block" else ""
    return page_blocks


def commands(block: Block) -> list[Command]:
    """Return the commands of a console block: lines after `$ `, with continuation lines, and their output."""
    block_commands: list[Command] = []
    for line in block.text.splitlines(keepends=True):
        if line.startswith("$ "):
            block_commands.append(Command(line.removeprefix("$ "), ""))
            continue
        assert block_commands, f"{block.location}: a console block starts with a command after `$ `"
        text, output = block_commands[-1]
        if text.endswith("\\\n") and not output:
            block_commands[-1] = Command(text + line, "")
        else:
            block_commands[-1] = Command(text, output + line)
    return block_commands


def inline_code(page: str) -> Iterator[tuple[int, str]]:
    """Yield the inline code of a page with the line number of its paragraph."""
    for token in _tokens(page):
        for child in token.children or ():
            if child.type == "code_inline":
                yield 1 + (token.map or [0])[0], child.content


def _tokens(page: str) -> list[Token]:
    return _MARKDOWN.parse((ROOT / page).read_text())
