#!/usr/bin/env python
"""Run Django's commands; bin/manage does so in the right virtualenv and environment."""

import os
import sys


def main(words: list[str]) -> None:
    if words[:1] == ["memkeys"] and "--store" not in words:
        # Without apps and tables, whose start takes longer than most scans.
        os.environ["DJANGO_SETTINGS_MODULE"] = "config.reaching"
        from collectors.keyscan import command

        sys.exit(command.main(words[1:]))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main(sys.argv[1:])
