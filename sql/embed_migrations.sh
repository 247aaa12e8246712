#!/bin/bash
# Turns sql/migrations/*.sql into C++ constants, so that hostlerctl carries the schema it was built
# with. Called by the Makefile: embed_migrations.sh OUTPUT. Refuses names out of form or numbers twice.
set -euo pipefail
cd "$(dirname "$0")"
out=$OLDPWD/$1
{
  echo "// Made by sql/embed_migrations.sh; do not edit."
  echo "#pragma once"
  echo
  echo '#include "ctl/migrations.h"'
  echo
  echo "namespace hostler {"
  echo
  echo "inline constexpr EmbeddedMigration embedded_migrations[] = {"
  last=
  for file in migrations/*.sql; do
    name=$(basename "$file" .sql)
    [[ $name =~ ^[0-9]{5}_[a-z0-9_]+$ ]] || { echo "sql/$file: the name must be 00001_what.sql" >&2; exit 1; }
    [ "${name%%_*}" != "$last" ] || { echo "sql/$file: two migrations have this number" >&2; exit 1; }
    last=${name%%_*}
    printf '    {"%s", "%s", R"migration(' "$last" "${name#*_}"
    cat "$file"
    echo ')migration"},'
  done
  echo "};"
  echo
  echo "}  // namespace hostler"
} > "$out"
