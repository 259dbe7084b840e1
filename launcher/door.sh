# Sourced by the doors in bin/: finds a Python that is new enough and runs a module of this checkout with it.

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)

door() {
    for python in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
        if [ -n "$python" ] && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            PYTHONPATH=$root exec "$python" -P -m "$@"
        fi
    done
    echo 'Error: no Python 3.11 or later was found.' >&2
    echo 'What to do: install one (on Debian and Ubuntu: apt install python3 python3-venv), or name it in PYTHON.' >&2
    exit 1
}
