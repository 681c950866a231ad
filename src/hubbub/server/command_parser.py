"""A parser of the command line that suggests commands and options for misspelled ones."""

import argparse
import difflib
import itertools
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn

_INVALID_CHOICE_PATTERN: Final = re.compile(r"invalid choice: '(?P<value>[^']*)' \(choose from (?P<choices>.*)\)")
_MISSING_ACTION_MESSAGE: Final = "the following arguments are required: ACTION"
_AMBIGUOUS_OPTION_PATTERN: Final = re.compile(r"ambiguous option: (?P<option>[^\s=]+).* could match ")

LISTED_CHOICES_MAX: Final = 8
"""Maximum number of allowed values that an error message lists; a message about more names the help text instead."""


class CommandParser(argparse.ArgumentParser):
    """An argument parser whose error messages contain a suggestion instead of a long list."""

    _arguments: Sequence[str] = ()
    """Arguments of the last parse, for error messages."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments, and reject an unknown option that is similar to one of this command, with a suggestion."""
        self._arguments = sys.argv[1:] if args is None else args
        namespace, unknown_arguments = super().parse_known_args(args, namespace)
        for unknown_argument in unknown_arguments:
            option = unknown_argument.partition("=")[0]
            suggestion = self._find_similar_option(option) if option.startswith("--") else None
            if suggestion is not None:
                self.error(f"unknown option {option}; did you mean {suggestion}?")
        return namespace, unknown_arguments

    def error(self, message: str) -> NoReturn:
        """Print the usage and a message, with a suggestion if there is one, and exit with 2."""
        if (choice_match := _INVALID_CHOICE_PATTERN.search(message)) is not None:
            choices = re.findall(r"[^\s',]+", choice_match["choices"])
            if (option := self._find_option_before(choice_match["value"])) is not None:
                message = (
                    f"write {option} after the name of the command: {self.prog} NAME {option} {choice_match['value']}"
                )
            elif (suggestion := _find_similar(choice_match["value"], choices)) is not None:
                message = f"{message[: choice_match.start()]}unknown value {choice_match['value']!r}; did you mean {suggestion!r}?"
            elif len(choices) > LISTED_CHOICES_MAX:
                value = choice_match["value"]
                message = (
                    f"{message[: choice_match.start()]}unknown value {value!r}; {self.prog} --help lists the values"
                )
        elif message == _MISSING_ACTION_MESSAGE:
            message = f"name an ACTION; {self.prog} --help lists them"
        elif (ambiguous_match := _AMBIGUOUS_OPTION_PATTERN.match(message)) is not None:
            if (suggestion := self._find_similar_option(ambiguous_match["option"])) is not None:
                message = f"unknown option {ambiguous_match['option']}; did you mean {suggestion}?"
        super().error(message)

    def _find_option_before(self, value: str) -> str | None:
        """Return the unknown option to which the first argument without hyphens seems to belong."""
        for option, argument in itertools.pairwise(self._arguments):
            if argument == value:
                return option if option.startswith("--") and option not in self._option_string_actions else None
        return None

    def _find_similar_option(self, option: str) -> str | None:
        return _find_similar(option, self._option_string_actions)


def _find_similar(text: str, names: Iterable[str]) -> str | None:
    return next(iter(difflib.get_close_matches(text, list(names), 1)), None)
