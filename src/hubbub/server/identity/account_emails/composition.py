"""Mail from templates: one template per kind of mail, rendered as plain text and as HTML in a common layout.

A template uses the macros of `parts.txt` or `parts.html`, so that both forms have the same content.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple
from urllib.parse import urlsplit

from hubbub.server.core import translation
from hubbub.server.core.config import Config
from hubbub.server.core.mail import Mail
from hubbub.server.core.translation import Language

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATE_FOLDER: Final = Path(__file__).parent / "templates"

MailFormat = Literal["txt", "html"]


class MailDraft(NamedTuple):
    """A mail that is not rendered yet."""

    config: Config
    template: str
    to: str
    language: Language
    """Language of the recipient."""
    values: Mapping[str, str]
    """Variables of the template."""


def create_draft(config: Config, template: str, to: str, locale: str, **values: str) -> MailDraft:
    """Return a mail in the language of a recipient's locale. `values` are the variables of the template."""
    language = translation.find_language(locale) or translation.find_language(config.web.default_locale)
    return MailDraft(config, template, to, language or translation.ENGLISH, values)


def compose(draft: MailDraft) -> Mail:
    """Render a mail as plain text and as HTML."""
    with translation.use_language(draft.language):
        return _render(draft)


def _render(draft: MailDraft) -> Mail:
    web_url = draft.config.web_url
    context = {**draft.values, "web_url": web_url, "host": urlsplit(web_url).netloc}
    text_template = _environment("txt").get_template(f"{draft.template}.jinja")
    subject = "".join(text_template.blocks["subject"](text_template.new_context(context)))
    text = text_template.render(context)
    html = _environment("html").get_template(f"{draft.template}.jinja").render(context)
    return Mail(to=draft.to, subject=" ".join(subject.split()), text=text, html=html)


@cache
def _environment(mail_format: MailFormat) -> "Environment":
    """Return the Jinja environment for one form of a mail."""
    # Servers that send no mail start faster without Jinja.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATE_FOLDER),
        autoescape=mail_format == "html",
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_callables(**translation.template_functions())  # type: ignore[attr-defined]
    environment.globals["language"] = translation.current_language
    environment.globals["layout"] = f"layout.{mail_format}"
    environment.globals["parts_file"] = f"parts.{mail_format}"
    environment.filters["time"] = _format_time
    return environment


def _format_time(text: str) -> str:
    """Format an ISO 8601 time in UTC; the server does not know the user's time zone."""
    return translation.format_time(datetime.fromisoformat(text))
