"""Messages of pages, mail and chat client: the files are up to date, and the translations are complete and consistent."""

import re

import pytest
from babel import Locale
from babel.messages import Catalog, Message
from babel.messages.pofile import read_po

from hubbub.server.core import translation
from tools import javascript_texts, translations

INCOMPLETE_LANGUAGES: frozenset[str] = frozenset()
"""Languages whose translation is being written."""

_PLACEHOLDER_PATTERN = re.compile(r"\{\w+\}|%\(\w+\)s|%%")
_TAG_PATTERN = re.compile(r"</?\w+[^>]*>")
_MARKED_CALL_PATTERN = re.compile(r"(?<![\w.$#])(?:\.\.\.)?(?<!function )(t|tn|tNodes)\(")
_COMMENT_PATTERN = re.compile(r"(?<!\w)/\*.*?\*/|^\s*//[^\n]*", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def template() -> Catalog:
    return translations.extract_messages()


def _read_catalog(name: str) -> Catalog:
    with (translation.FOLDER / name / f"{translation.DOMAIN}.po").open("rb") as file:
        return read_po(file, locale=Locale.parse(name, sep="-"))


def _texts(message: Message) -> list[str]:
    return [message.string] if isinstance(message.string, str) else list(message.string)


def _ids(message: Message) -> list[str]:
    return [message.id] if isinstance(message.id, str) else list(message.id)


def test_the_template_contains_the_messages_of_the_code(template: Catalog) -> None:
    assert translation.TEMPLATE.read_bytes() == translations.render_template(template), "run make translations"


@pytest.mark.parametrize("name", translation.list_translations())
def test_a_translation_contains_the_messages_of_the_code(name: str, template: Catalog) -> None:
    path = translation.FOLDER / name / f"{translation.DOMAIN}.po"
    assert path.read_bytes() == translations.update_translation(name, template), "run make translations"


@pytest.mark.parametrize("name", translation.list_translations())
def test_a_translation_is_complete(name: str) -> None:
    untranslated_ids = [
        message.id for message in _read_catalog(name) if message.id and (message.fuzzy or not all(_texts(message)))
    ]
    assert untranslated_ids == [] or name in INCOMPLETE_LANGUAGES


@pytest.mark.parametrize("name", translation.list_translations())
def test_translations_have_the_placeholders_and_tags_of_their_message(name: str) -> None:
    problems = []
    for message in _read_catalog(name):
        expected_placeholders = {
            part
            for text in _ids(message)
            for pattern in (_PLACEHOLDER_PATTERN, _TAG_PATTERN)
            for part in pattern.findall(text)
        }
        for text in _texts(message) if message.id else []:
            used_placeholders = {
                part for pattern in (_PLACEHOLDER_PATTERN, _TAG_PATTERN) for part in pattern.findall(text)
            }
            # The singular form may write the count as a word.
            optional = {"{count}", "%(count)s", "%(num)s"} if message.pluralizable else set()
            if text and (
                used_placeholders - expected_placeholders or expected_placeholders - used_placeholders - optional
            ):
                problems.append((message.id, text))
    assert problems == []


def test_messages_with_the_same_singular_have_the_same_plural() -> None:
    plurals: dict[str, set[str]] = {}
    for _, message, _ in translations.find_messages():
        if not isinstance(message, str):
            plurals.setdefault(message[0], set()).add(message[1])
    assert {singular: plural_forms for singular, plural_forms in plurals.items() if len(plural_forms) > 1} == {}


def test_the_extraction_finds_every_call_in_the_modules() -> None:
    for path in translations.javascript_modules():
        code = path.read_text()
        calls = list(javascript_texts.find_calls(code, translations.JAVASCRIPT_FUNCTIONS))
        assert len(calls) == len(_MARKED_CALL_PATTERN.findall(_COMMENT_PATTERN.sub("", code))), path


def test_every_text_in_the_modules_is_a_literal() -> None:
    dynamic = [
        f"{path.name}:{call.line}"
        for path in translations.javascript_modules()
        # `tNodes` itself calls `t` with its argument.
        if not path.as_posix().endswith("ui/translation.js")
        for call in javascript_texts.find_calls(path.read_text(), translations.JAVASCRIPT_FUNCTIONS)
        if None in call.arguments
    ]
    assert dynamic == []


def test_every_placeholder_of_a_text_in_the_modules_has_a_value() -> None:
    problems = [
        f"{path.name}:{call.line}: {name}"
        for path in translations.javascript_modules()
        for call in javascript_texts.find_calls(path.read_text(), translations.JAVASCRIPT_FUNCTIONS)
        if call.value_names is not None
        for text in filter(None, call.arguments)
        for name in re.findall(r"\{(\w+)\}", text)
        if name not in call.value_names and not (call.function == "tn" and name == "count")
    ]
    assert problems == []


def test_the_extraction_reads_calls_in_arguments_templates_and_after_regular_expressions() -> None:
    code = r"""
    const pattern = /["'`]/g, half = total / 2 / 1;
    class Row { #t = t("private"); label = this.#t?.t("method"); }
    tNodes("{a} of {b}", { a: t("inner"), b: `x ${`${t("template")}`} "` });
    t("joined " +
      "text \"quoted\" \u2026");
    tn("{count} day", '{count} days', count); t(variable); t(`literal`); t(`not ${literal}`);
    /* t("comment") */ // t("comment")
    """
    calls = javascript_texts.find_calls(code, translations.JAVASCRIPT_FUNCTIONS)
    assert [(call.function, *call.arguments) for call in calls] == [
        ("t", "private"),
        ("tNodes", "{a} of {b}"),
        ("t", "inner"),
        ("t", "template"),
        ("t", 'joined text "quoted" …'),
        ("tn", "{count} day", "{count} days"),
        ("t", None),
        ("t", None),
        ("t", None),
    ]


def test_the_extraction_reads_the_names_of_values() -> None:
    code = """
    t("none"); t("{a} {b}", { a, b: call({ c: 1 }, d), }); t("{a}", values); t("{a} {b}", { ...values, b });
    tn("{count} day {clock}", "{count} days {clock}", count(1, { x }), { clock: `${x}` });
    """
    calls = javascript_texts.find_calls(code, translations.JAVASCRIPT_FUNCTIONS)
    assert [call.value_names for call in calls] == [set(), {"a", "b"}, None, None, {"clock"}]
