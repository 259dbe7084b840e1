"""Channels that speak HTTP: they say what to send and how to read the answer, the road is the same."""

from abc import abstractmethod
from http import HTTPStatus
from typing import ClassVar
from urllib.parse import urlsplit

from alerts.causes import Cause
from alerts.channel import Accepted, ChannelKind, Final, Outcome, Refused, RetryAt, Sending, Settings, Told, Unknown
from alerts.http import Answer, Request, post

FINAL: dict[int, Cause] = {
    HTTPStatus.UNAUTHORIZED: Cause.NOT_ALLOWED,
    HTTPStatus.FORBIDDEN: Cause.NOT_ALLOWED,
    HTTPStatus.PROXY_AUTHENTICATION_REQUIRED: Cause.NOT_ALLOWED,
    HTTPStatus.NOT_FOUND: Cause.GONE,
    HTTPStatus.GONE: Cause.GONE,
}
# The service says that it did not take the message.
LATER = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.SERVICE_UNAVAILABLE}


class HttpChannel(ChannelKind):
    """A service that takes a message as one POST."""

    is_http: ClassVar[bool] = True

    @abstractmethod
    def request(self, settings: Settings, sending: Sending) -> Request:
        """Return what to send."""

    def judge(self, answer: Answer, sending: Sending) -> Outcome:
        """Return what an answer with a status of success means: some services put errors into it."""
        return Accepted(answer.status, answer.text)

    def deliver(self, settings: Settings, sending: Sending) -> Outcome:
        if sending.kind in self.ignores:
            return Accepted()
        answer = post(self.request(settings, sending))
        if not isinstance(answer, Answer):
            return answer
        return self.judge(answer, sending) if HTTPStatus(200) <= answer.status < HTTPStatus(300) else refusal(answer)


def refusal(answer: Answer) -> Refused:
    """Return what a status outside of success means."""
    told, status = Told(answer.status, answer.text), answer.status
    words = str(status)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return RetryAt(told.status, told.answer, cause=Cause.BUSY, seconds=answer.retry_after(), holds_channel=True)
    if status in LATER:
        return RetryAt(told.status, told.answer, cause=Cause.UNAVAILABLE, words=words, seconds=answer.retry_after())
    if status < HTTPStatus.BAD_REQUEST:
        host = urlsplit(answer.headers.get("location", "")).hostname or ""
        return Final(told.status, told.answer, cause=Cause.REDIRECTED, words=host)
    if status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return Final(told.status, told.answer, cause=FINAL.get(status, Cause.BAD_REQUEST), words=words)
    return Unknown(told.status, told.answer, cause=Cause.SERVER_ERROR, words=words)
