"""What people tell a scan while it runs, from any thread."""

from collectors.keyscan.brake import BRAKES, Brake


class Control:
    """The handle of a running scan. The scan looks at it after every slice, and at least ten times a second."""

    def __init__(self, brake: str | Brake) -> None:
        self.brake = _brake(brake)
        self.is_paused = False
        self.is_stopped = False

    def stop(self) -> None:
        """End the scan; what was found so far stays."""
        self.is_stopped = True

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False

    def set_brake(self, brake: str | Brake) -> None:
        self.brake = _brake(brake)


def _brake(brake: str | Brake) -> Brake:
    return BRAKES[brake] if isinstance(brake, str) else brake
