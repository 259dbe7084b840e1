"""Lists in pages: what is asked for, and what stands beside the rows of an answer."""

from typing import Any

from ninja import Schema
from pydantic import Field


class PageQuery(Schema):
    """Which page of a list; the rows are `found[query.cut]`."""

    page: int = Field(1, ge=1, le=100_000)
    page_size: int = Field(100, ge=1, le=500)

    @property
    def cut(self) -> slice:
        return slice((self.page - 1) * self.page_size, self.page * self.page_size)

    def told(self, count: int) -> dict[str, Any]:
        return {"count": count, "page": self.page, "page_size": self.page_size}


class PageAnswer(Schema):
    count: int = Field(description="How many rows there are in all.")
    page: int
    page_size: int
