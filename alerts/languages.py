"""Messages in every language that people read: built when something is told, chosen by whoever shows or sends it."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import ParamSpec

from django.conf import settings
from django.utils import translation

from alerts.message import Message

P = ParamSpec("P")


def in_every_language(build: Callable[P, Message]) -> Callable[P, Message]:
    """Let a function that builds a message in the active language build it in the site's, with the words of others."""

    @wraps(build)
    def built(*args: P.args, **kwargs: P.kwargs) -> Message:
        with translation.override(settings.LANGUAGE_CODE):
            message = build(*args, **kwargs)
        others = {}
        for language in {code for code, _name in settings.LANGUAGES} - {settings.LANGUAGE_CODE}:
            with translation.override(language):
                words = build(*args, **kwargs).words
            if words != message.words:
                others[language] = words
        return replace(message, others=others)

    return built


@in_every_language
def changed(message: Message, change: Callable[[Message], Message]) -> Message:
    """Return a message with the same change made in each of its languages, while that one is active."""
    return change(message.spoken(translation.get_language()))


def in_site_language(words: Callable[[], str]) -> str:
    """Return words as they are stored where they are kept in one language."""
    with translation.override(settings.LANGUAGE_CODE):
        return words()


def spoken(otherwise: str, others: dict[str, str]) -> str:
    """Return a stored text in the active language where it was kept in it, else as it was kept for the site."""
    return others.get(translation.get_language() or "", otherwise)
