#!/usr/bin/env bash
# Builds the console:   build.sh OUT_DIR TOOLS_DIR      called by `make console`.
# Gets what package-lock.json names from npm into TOOLS_DIR, no scripts of packages run, and bundles it with the sources
# into OUT_DIR. Where node, npm or a registry is missing it says so and is no failure: an OUT_DIR that is not older than
# the sources, as a source archive brings it, stays; another one goes.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -eq 2 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 64; }
out=$(realpath -m "$1") tools=$(realpath -m "$2")

without_console() {
  if [ -f "$out/index.html" ] && [ -z "$(find "$here" -newer "$out/index.html" -type f -print -quit)" ]; then
    echo "The console stays as it is: $1"
    exit 0
  fi
  rm -rf "$out"
  echo "No console: $1"
  exit 0
}

for program in node npm; do
  command -v "$program" >/dev/null || without_console "$program is missing (apt install nodejs npm)"
done

if ! cmp -s "$here/package-lock.json" "$tools/package-lock.json" || [ ! -d "$tools/node_modules" ]; then
  rm -rf "$tools"
  mkdir -p "$tools"
  cp "$here"/package{,-lock}.json "$tools"
  if ! npm ci --prefix "$tools" --no-audit --no-fund --ignore-scripts --silent >/dev/null 2>&1; then
    rm -rf "$tools"
    without_console "npm cannot get what console/package-lock.json names"
  fi
fi

node "$here/build.mjs" "$out" "$tools/node_modules"
