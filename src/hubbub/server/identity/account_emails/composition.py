"""Mail from templates: one template per kind of mail, rendered as plain text and as HTML in a common layout.

A template uses the macros of `parts.txt` or `parts.html`, so that both forms have the same content.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hubbub.server.core import translation
from hubbub.server.core.config import Config
from hubbub.server.core.mail import Mail

FOLDER: Final = Path(__file__).parent / "templates"

Form = Literal["txt", "html"]


def compose(config: Config, template: str, to: str, locale: str, **values: str) -> Mail:
    """Render a template in the language of a recipient's locale. `values` are the variables of the template."""
    language = translation.find_language(locale) or translation.find_language(config.web.default_locale)
    with translation.use_language(language or translation.ENGLISH):
        return _render(config, template, to, values)


def _render(config: Config, template: str, to: str, values: Mapping[str, str]) -> Mail:
    context = {**values, "web_url": config.web_url, "host": urlsplit(config.web_url).netloc}
    text_template = _environment("txt").get_template(f"{template}.jinja")
    subject = "".join(text_template.blocks["subject"](text_template.new_context(context)))
    text = text_template.render(context)
    html = _environment("html").get_template(f"{template}.jinja").render(context)
    return Mail(to=to, subject=" ".join(subject.split()), text=text, html=html)


@cache
def _environment(form: Form) -> Environment:
    """Return the Jinja environment for one form of a mail."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=form == "html",
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_callables(**translation.template_functions())  # type: ignore[attr-defined]
    environment.globals["language"] = translation.current_language
    environment.globals["layout"] = f"layout.{form}"
    environment.globals["parts_file"] = f"parts.{form}"
    environment.filters["moment"] = _format_time
    return environment


def _format_time(text: str) -> str:
    """Format an ISO 8601 time in UTC; the server does not know the user's time zone."""
    return translation.format_time(datetime.fromisoformat(text))
