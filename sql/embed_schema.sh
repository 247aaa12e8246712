#!/bin/bash
# Turns sql/VERSION, sql/schema and sql/migrations into C++ constants, so that hostlerctl carries the schema that it was
# built with. Called by the Makefile: embed_schema.sh OUTPUT. What is out of form fails here: names, numbers given
# twice, a topic that schema/order lacks, a VERSION that is not the newest migration's number.
set -euo pipefail
cd "$(dirname "$0")"
out=$OLDPWD/$1

refuse() { echo "sql/$1" >&2 && exit 1; }

version=$(<VERSION)
mapfile -t topics <schema/order
[ "$(printf '%s.sql\n' "${topics[@]}" | sort)" = "$(cd schema && printf '%s\n' *.sql | sort)" ] ||
  refuse "schema/order: it must name each file of sql/schema once"

texts() { # ARRAY FOLDER NAME…: of FOLDER/NAME.sql
  echo "inline constexpr EmbeddedText $1[] = {"
  local name
  for name in "${@:3}"; do
    printf '    {"%s", R"sql(' "$name"
    cat "$2/$name.sql"
    echo ')sql"},'
  done
  echo "};"
}

mapfile -t migrations < <(cd migrations && basename -s .sql -- *.sql)
last=
for name in "${migrations[@]}"; do
  [[ $name =~ ^[0-9]{5}_[a-z0-9_]+$ ]] || refuse "migrations/$name.sql: the name must be like 00001_what.sql"
  [ "${name%%_*}" != "$last" ] || refuse "migrations/$name.sql: two migrations have this number"
  last=${name%%_*}
done
[ "$last" = "$version" ] || refuse "VERSION: it must be the number of the newest file of sql/migrations"

{
  echo "// Made by sql/embed_schema.sh; do not edit."
  echo "#pragma once"
  echo
  echo '#include "ctl/schema.h"'
  echo
  echo "namespace hostler {"
  echo
  echo "inline constexpr std::string_view embedded_schema_version = \"$version\";"
  texts embedded_topics schema "${topics[@]}"
  texts embedded_migrations migrations "${migrations[@]}"
  echo
  echo "}  // namespace hostler"
} >"$out"
