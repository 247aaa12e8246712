#!/bin/bash
# Turns templates/*.txt and *.html into C++ constants, one row for each template and locale. Called by the Makefile:
# embed.sh OUTPUT. The first line of a .txt is its subject, which nothing is filled into.
set -euo pipefail
cd "$(dirname "$0")"
out=$OLDPWD/$1
{
  echo "// Made by templates/embed.sh; do not edit."
  echo "#pragma once"
  echo
  echo "#include <string_view>"
  echo
  echo "namespace hostler {"
  echo
  echo "struct MailTemplate {"
  echo "  std::string_view name;"
  echo "  std::string_view locale;"
  echo "  std::string_view subject;"
  echo "  std::string_view plain;"
  echo "  std::string_view html;"
  echo "};"
  echo
  echo "inline constexpr MailTemplate mail_templates[] = {"
  for plain in *.txt; do
    name=${plain%.txt}
    subject=$(head -n 1 "$plain")
    [[ $subject == "Subject: "* && $subject != *"{{"* ]] || { echo "templates/$plain: its subject" >&2; exit 1; }
    printf '    {"%s", "%s", R"mail(%s)mail",\nR"mail(%s\n)mail",\nR"mail(%s\n)mail"},\n' "${name%.*}" "${name##*.}" \
      "${subject#Subject: }" "$(tail -n +3 "$plain")" "$(cat "$name.html")"
  done
  echo "};"
  echo
  echo "}  // namespace hostler"
} >"$out"
