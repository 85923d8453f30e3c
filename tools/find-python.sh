#!/bin/sh
# Print the path and the version ("3.12", or "3.13t" for a free-threaded build) of the first usable Python among the
# names and paths given; without any, of the default one. A Python is usable if it is 3.11 or newer and can make virtual
# environments. Names such as python3.12 are looked up on the PATH, and then among the versions of pyenv: its shims run
# only the versions that are switched on.

# TensorFlow supports new versions of Python late, so older ones come first.
[ $# -gt 0 ] || set -- python3.11 python3.12 python3.13 python3 python

problem=
for name in "$@"; do
  number=${name#python}
  for python in "$name" $(ls -d "${PYENV_ROOT:-$HOME/.pyenv}/versions/${number%t}".*/bin/"$name" 2>/dev/null | sort -rV); do
    found=$("$python" -c 'import sys; print(sys.executable, "%d.%d" % sys.version_info[:2] + getattr(sys, "abiflags", ""))' 2>/dev/null) || continue
    if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
      problem=${problem:-"$python is ${found##* }"}
    elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
      # Debian ships Python without ensurepip, which venv needs.
      problem=${problem:-"$python has no venv module (on Debian and Ubuntu: apt install python3-venv)"}
    else
      echo "$found"
      exit 0
    fi
  done
done
echo "ramet needs Python 3.11 or newer, and ${problem:-"$1 was not found"}: install one, or name one with PYTHON=/path/to/python3." >&2
exit 1
