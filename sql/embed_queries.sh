#!/bin/bash
# Turns sql/queries/*.sql into C++ constants: query::NAME, a Statement each; DIRECTORY/queries/<topic>.h has
# one topic's, queries/all.h a list of all, schema_version.h has the number in sql/VERSION.
# Called by the Makefile: embed_queries.sh DIRECTORY. A header that would not change keeps its time:
# a new statement rebuilds the sources of its topic alone.
#
# A statement is announced by "-- name: run_show" and ends where the next one begins or the file ends.
set -euo pipefail
out=$(realpath "$1")
cd "$(dirname "$0")"
mkdir -p "$out/queries"

keep_or_replace() {  # PATH: its new text is on standard input
  cat > "$1.new"
  if cmp -s "$1.new" "$1"; then rm "$1.new"; else mv "$1.new" "$1"; fi
}

keep_or_replace "$out/schema_version.h" << EOF
// Made by sql/embed_queries.sh; do not edit.
#pragma once

#include <string_view>

namespace hostler {
constexpr std::string_view schema_version_expected = "$(<VERSION)";
}
EOF

for file in queries/*.sql; do
  topic=$(basename "$file" .sql)
  {
    echo "// Made by sql/embed_queries.sh of sql/$file; do not edit."
    echo "#pragma once"
    echo
    echo '#include "lib/loop/db.h"'
    echo
    echo "namespace hostler::query {"
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
    echo "}  // namespace hostler::query"
  } | keep_or_replace "$out/queries/$topic.h"
done

# The Makefile's target: always new.
{
  echo "// Made by sql/embed_queries.sh; do not edit."
  echo "#pragma once"
  echo
  for file in queries/*.sql; do echo "#include \"queries/$(basename "$file" .sql).h\""; done
  echo
  echo "namespace hostler::query {"
  echo "inline constexpr const Statement* all[] = {"
  sed -n 's/^-- name: \([a-z0-9_]*\).*/    \&\1,/p' queries/*.sql
  echo "};"
  echo "}  // namespace hostler::query"
} > "$out/queries/all.h"
