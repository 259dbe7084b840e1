"""What goes wrong, in words for the person at the terminal."""


class LauncherError(Exception):
    """A step cannot be done. `reason` says why; `advice` says what to do about it."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(f"{reason} {advice}".strip())
        self.reason = reason
        self.advice = advice
