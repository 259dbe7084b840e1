"""The checkout that this launcher belongs to."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VIRTUALENV = ROOT / ".venv"
PYTHON = VIRTUALENV / "bin" / "python"
DEFAULT_DATA = ROOT / "var"
