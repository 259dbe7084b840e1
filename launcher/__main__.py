"""The doors in bin/."""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import NoReturn

from launcher import detached, managing, stopping, testrun, up, virtualenv
from launcher.checkout import DEFAULT_DATA, PYTHON
from launcher.data import Data
from launcher.steps import explain
from launcher.trouble import LauncherError

BEGAN = "SHARDWATCH_LAUNCH_BEGAN"


def main(words: list[str]) -> int:
    try:
        return DOORS[words[0]](words[1:])
    except LauncherError as error:
        explain(error)
        return 1
    except KeyboardInterrupt:
        return 130


def run_up(words: list[str]) -> int:
    asked = up_arguments(words)
    data = Data(asked.data.resolve())
    if asked.stop:
        return stopping.stop(data)
    began = float(os.environ.pop(BEGAN, time.time()))
    if Path(sys.prefix) != PYTHON.parent.parent:
        virtualenv.ensure()
        _become_module("launcher", ["up", *words], **{BEGAN: str(began)})
    wish = up.Wish(data, asked.bind, asked.port, asked.demo, tuple(asked.addresses), began)
    if asked.detach:
        return detached.in_background(lambda ready: guarded(wish, ready), data.log / "up.log")
    return up.run(wish, lambda: up.say("Stop it with Ctrl-C."))


def guarded(wish: up.Wish, ready: up.OnReady) -> int:
    try:
        return up.run(wish, ready)
    except LauncherError as error:
        explain(error)
        return 1


def up_arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bin/up", description="Start Shardwatch from this checkout.")
    parser.add_argument("addresses", nargs="*", metavar="ADDRESS", help="redis://… or memcached://… to watch, no demo")
    parser.add_argument("--port", type=int, default=0, help="port of the web server; the first free one from 8000")
    parser.add_argument("--bind", default="127.0.0.1", help="address that the web server listens on; loopback")
    parser.add_argument("--data", type=Path, default=default_data(), metavar="DIR", help="where everything is kept")
    parser.add_argument("--detach", action="store_true", help="return when ready and go on in the background")
    parser.add_argument("--stop", action="store_true", help="stop what runs with this data")
    parser.add_argument("--no-demo", dest="demo", action="store_false", help="do not start the demo fleet")
    return parser.parse_args(words)


def default_data() -> Path:
    return Path(os.environ.get("SHARDWATCH_DATA", DEFAULT_DATA))


def run_manage(words: list[str]) -> int:
    data = default_data()
    if words[:1] == ["--data"] and len(words) > 1:
        data, words = Path(words[1]), words[2:]
    virtualenv.ensure(stream=sys.stderr)
    managing.run(Data(data.resolve()), words)


def run_bench(words: list[str]) -> int:
    virtualenv.ensure(virtualenv.TEST)
    _become_module("bench", words)


def run_drill(words: list[str]) -> int:
    virtualenv.ensure(virtualenv.TEST)
    _become_module("bench.drill", words)


def _become_module(name: str, words: list[str], **more: str) -> NoReturn:
    os.execve(PYTHON, [str(PYTHON), "-P", "-m", name, *words], os.environ | more)  # noqa: S606


DOORS = {"up": run_up, "manage": run_manage, "test": testrun.run, "bench": run_bench, "drill": run_drill}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
