#!/bin/bash
# Turns sql/queries/*.sql into C++ constants: query::NAME, a Statement each, and names the newest
# migration. Called by the Makefile: embed_queries.sh OUTPUT.
#
# A statement is announced by "-- name: run_show" and ends where the next one begins or the file ends.
set -euo pipefail
cd "$(dirname "$0")"
out=$OLDPWD/$1
newest=$(printf '%s\n' migrations/*.sql | LC_ALL=C sort | tail -n 1)
newest=${newest#migrations/}
{
  echo "// Made by sql/embed_queries.sh; do not edit."
  echo "#pragma once"
  echo
  echo '#include "lib/loop/db.h"'
  echo
  echo "namespace hostler {"
  echo
  echo "constexpr std::string_view schema_version_expected = \"${newest%%_*}\";"
  echo
  echo "namespace query {"
  for file in queries/*.sql; do
    topic=$(basename "$file" .sql)
    awk -v topic="$topic" '
      function finish(   i, most, rest) {
        if (name == "") return
        sub(/;[ \t\n]*$/, "", text)
        most = 0; rest = text
        while (match(rest, /\$[0-9]+/)) {
          i = substr(rest, RSTART + 1, RLENGTH - 1) + 0
          if (i > most) most = i
          rest = substr(rest, RSTART + RLENGTH)
        }
        printf "inline constexpr Statement %s{\"%s\", \"%s\", R\"sql(%s)sql\", %d};\n", name, topic, name, text, most
        name = ""
      }
      /^-- name: / { finish(); name = $3; text = ""; next }
      name != "" && /^--/ && text == "" { next }
      name != "" && NF { text = text (text == "" ? "" : "\n") $0 }
      END { finish() }
    ' "$file"
  done
  echo
  echo "inline constexpr const Statement* all[] = {"
  sed -n 's/^-- name: \([a-z0-9_]*\).*/    \&\1,/p' queries/*.sql
  echo "};"
  echo
  echo "}  // namespace query"
  echo "}  // namespace hostler"
} > "$out"
