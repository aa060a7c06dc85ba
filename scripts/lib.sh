# What demo, test and check share. Sourced by them, never run by itself.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
export PATH="$PWD/.venv/bin:$PATH"
python=.venv/bin/python

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "$@"
  exit 1
}

# Makes .venv and installs the project into it with the named extra. A stamp keeps
# the hash of what decides that, so that nothing happens until one of them changes.
install_project() {
  local extra=$1 stamp=.venv/.installed-$1 wanted
  wanted=$({ pwd && cat pyproject.toml hatch_build.py scripts/lib.sh; } \
    | git hash-object --stdin)
  if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
    make_venv
    say "Installing bread-nb[$extra] into .venv"
    "$python" -m pip install -qq --editable ".[$extra]" >&2
    printf '%s\n' "$wanted" >"$stamp"
  fi
  "$python" widgets/build.py
}

make_venv() {
  "$python" -c '' 2>/dev/null && "$python" -m pip --version >/dev/null 2>&1 && return
  local found
  found=$(new_enough_python) || fail "Python 3.11 or newer is needed, on PATH."
  say "Making .venv with $("$found" --version)"
  rm -rf .venv
  "$found" -m venv .venv >/dev/null 2>&1 && return
  local version
  version=$("$found" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  apt_install "python$version-venv" && "$found" -m venv .venv && return
  fail "$found cannot make a virtual environment; its venv and ensurepip are needed."
}

new_enough_python() {
  local name
  for name in python3.11 python3 python3.12 python3.13 python3.14 python; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$name"
      return
    fi
  done
  return 1
}

# Debian and its kin only, and only where that asks for no password.
apt_install() {
  local root=()
  command -v apt-get >/dev/null || return 1
  if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null || return 1
    root=(sudo -n)
  fi
  say "Installing $* with apt-get"
  local quiet=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o=Dpkg::Use-Pty=0)
  "${root[@]}" "${quiet[@]}" update >/dev/null 2>&1 || true
  "${root[@]}" "${quiet[@]}" install -y --no-install-recommends "$@" >/dev/null 2>&1
}

# Some wheels take a library of the system for granted that a bare Debian lacks.
need_library() {
  local who=$1 library=$2 debian=$3 fedora=$4
  [ "$(uname)" = Linux ] || return 0
  "$python" -c "import ctypes; ctypes.CDLL('$library')" 2>/dev/null && return
  apt_install "$debian" && return
  say "$who needs $library (Debian: $debian, Fedora: $fedora)."
  return 1
}

install_local_model() {
  need_library "The local model" libgomp.so.1 libgomp1 libgomp || return 1
  .venv/bin/bread local install >&2
}

# Sets BREAD_CHROMIUM to a browser's path, or to nothing when none can be had.
find_chromium() {
  local names=(chromium chromium-browser google-chrome google-chrome-stable)
  BREAD_CHROMIUM=${BREAD_CHROMIUM:-$(command -v "${names[@]}" | head -n 1 || true)}
  if [ -z "$BREAD_CHROMIUM" ] && apt_install chromium fonts-liberation; then
    BREAD_CHROMIUM=$(command -v chromium || true)
  fi
  need_library "What drives Chromium" libatomic.so.1 libatomic1 libatomic \
    || BREAD_CHROMIUM=
  [ -n "$BREAD_CHROMIUM" ] || say "No Chromium that can be driven: the browser tests will be skipped."
  export BREAD_CHROMIUM
}

# Makes .venv-binder: JupyterLab and Notebook as Binder has them, which are older than
# those of .venv, with bread-nb installed from the tree. Needs the dev extra.
install_binder() {
  local names='ipykernel|ipython|ipywidgets|jupyterlab|jupyterlab_widgets|notebook'
  local pins=($(grep -E "^($names)==" binder/requirements.txt))
  local stamp=.venv-binder/.installed wanted
  wanted=$({ pwd && echo "${pins[@]}" && runtime_requirements; } \
    | git hash-object --stdin)
  if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
    say "Installing ${pins[*]} into .venv-binder"
    rm -rf .venv-binder
    "$python" -m venv .venv-binder || return 1
    runtime_requirements | .venv-binder/bin/python -m pip install -qq "${pins[@]}" \
      --requirement /dev/stdin >&2 || return 1
    printf '%s\n' "$wanted" >"$stamp"
  fi
  install_into_binder
}

# The package itself, anew whenever a file of it changed.
install_into_binder() {
  local stamp=.venv-binder/.package wheels=.venv-binder/wheels wanted
  "$python" widgets/build.py || return 1
  wanted=$(find bread_nb -type f -not -path '*/__pycache__/*' -exec cksum {} + \
    | sort | git hash-object --stdin)
  [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || return 0
  rm -rf "$wheels"
  "$python" -m hatchling build -t wheel -d "$wheels" >/dev/null || return 1
  .venv-binder/bin/python -m pip install -qq --no-deps --force-reinstall \
    "$wheels"/*.whl >&2 || return 1
  printf '%s\n' "$wanted" >"$stamp"
}

runtime_requirements() {
  "$python" -c 'import tomllib
with open("pyproject.toml", "rb") as file:
    print(*tomllib.load(file)["project"]["dependencies"], sep="\n")'
}
