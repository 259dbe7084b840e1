"""What one node is asked in one go. Plans are kept from poll to poll, as most polls ask what the one before asked."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from collectors.connections import pack
from collectors.source import Command, Source


@dataclass(frozen=True, slots=True)
class Plan:
    """Sources with their commands, each once. `places` says where among the replies those of each source are."""

    sources: tuple[Source, ...]
    commands: tuple[Command, ...]
    places: tuple[tuple[int, ...], ...]
    payload: bytes

    @classmethod
    def of(cls, sources: Iterable[Source], packer: Callable[[Sequence[Command]], bytes] = pack) -> "Plan":
        asked = [(source, source.commands()) for source in sources]
        commands = tuple(dict.fromkeys(command for _, own in asked for command in own))
        place = {command: index for index, command in enumerate(commands)}
        places = tuple(tuple(place[command] for command in own) for _, own in asked)
        return cls(tuple(source for source, _ in asked), commands, places, packed(packer, commands))


@lru_cache(maxsize=1024)
def packed(packer: Callable[[Sequence[Command]], bytes], commands: tuple[Command, ...]) -> bytes:
    return packer(commands)
