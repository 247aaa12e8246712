#!/usr/bin/python3
"""Turns sql/queries/*.sql into C++: of a statement run_show the constant query::run_show and the
struct query::RunShow, whose members are its parameters.

Called by the Makefile: embed_queries.py DIRECTORY [SQL_DIRECTORY]. DIRECTORY/queries/<topic>.h has
one topic's, queries/all.h a list of all, schema_version.h the number in sql/VERSION. A header that
would not change keeps its time: a new statement rebuilds the sources of its topic alone.

A statement is announced by "-- name: run_page" and ends where the next one begins. Its comment says
what it does, and ends with its parameters in their order, on lines of their own:

    -- A page of the organization's runs.
    -- $1 status text or null (of any when null), $2 limit integer,
    -- $3 before uuid or null

What does not say so of every $n in the text, and of no other, is refused. That the types are those
that Postgres finds is the matter of tests/sql/statements_test.cpp.
"""

import pathlib
import re
import sys

# Class of lib/postgres/param.h that a caller gives for a type of Postgres.
CPP_TYPES = {
    "bigint": "Integer",
    "bigint[]": "Integers",
    "boolean": "Boolean",
    "boolean[]": "Booleans",
    "bytea": "Bytes",
    "cidr": "Text",
    "date": "Text",
    "integer": "Integer",
    "json": "Json",
    "json[]": "Jsons",
    "jsonb": "Json",
    "text": "Text",
    "text[]": "Texts",
    "timestamptz": "Text",
    "uuid": "Uuid",
    "uuid[]": "Uuids",
}

PARAMETER = re.compile(
    r"\$(?P<number>[0-9]+) (?P<name>[a-z][a-z0-9_]*) (?P<type>[a-z]+(?:\[\])?)(?P<null> or null)?"
    r"(?: \([^()]*\))?"
)
NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
USE = re.compile(r"\$([0-9]+)")


class Fault(Exception):
    """What is wrong with a statement, in words for whoever writes it."""


class Parameter:
    def __init__(self, found):
        self.name = found["name"]
        if found["type"] not in CPP_TYPES:
            raise Fault(f"${found['number']} {self.name} has the unknown type {found['type']}")
        kind = "postgres::param::" + CPP_TYPES[found["type"]]
        self.cpp_type = f"postgres::param::Optional<{kind}>" if found["null"] else kind


class Statement:
    def __init__(self, name, lines):
        self.name = name
        if not NAME.fullmatch(name):
            raise Fault("a name is words of lower case with _ between")
        is_text = (i for i, line in enumerate(lines) if not line.startswith("--"))
        text_from = next(is_text, len(lines))
        self.text = text_of(lines[text_from:])
        self.parameters = parameters_of([line[2:].strip() for line in lines[:text_from]])
        check_uses(self.text, self.parameters)

    def struct_name(self):
        return "".join(word.capitalize() for word in self.name.split("_"))


def text_of(lines):
    text = "\n".join(line for line in lines if line.strip())
    return re.sub(r";\s*$", "", text)


def parameters_of(comment):
    """The list at the end of a comment: from its first line that begins with $1."""
    first = next((i for i, line in enumerate(comment) if line.startswith("$1 ")), len(comment))
    for line in comment[:first]:
        if "$" in line:
            raise Fault(f"parameters stand on lines of their own at the end of the comment: {line}")
    rest = " ".join(comment[first:])
    parameters = []
    while rest:
        found = PARAMETER.match(rest)
        if not found:
            raise Fault(f'not of the form "$1 name type [or null] [(words)]": {rest}')
        if int(found["number"]) != len(parameters) + 1:
            raise Fault(f"${len(parameters) + 1} is expected instead of ${found['number']}")
        parameters.append(Parameter(found))
        rest = rest[found.end():]
        if rest and not rest.startswith(", $"):
            raise Fault(f'", $" is expected after ${len(parameters)} instead of: {rest}')
        rest = rest[2:]
    names = [parameter.name for parameter in parameters]
    for name in names:
        if names.count(name) > 1:
            raise Fault(f"two parameters are named {name}")
    return parameters


def check_uses(text, parameters):
    used = {int(number) for number in USE.findall(text)}
    for number in sorted(used):
        if not 1 <= number <= len(parameters):
            raise Fault(f"${number} is used, but not described")
    for number, parameter in enumerate(parameters, 1):
        if number not in used:
            raise Fault(f"${number} {parameter.name} is described, but not used")


def statements_in(path):
    statements = []
    parts = re.split(r"^-- name: (.*)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for name, body in zip(parts[1::2], parts[2::2]):
        try:
            statements.append(Statement(name.strip(), body.strip("\n").split("\n")))
        except Fault as fault:
            raise SystemExit(f"{path}: {name.strip()}: {fault}") from fault
    return statements


def struct_of(statement):
    members = "".join(f"  {p.cpp_type} {p.name};\n" for p in statement.parameters)
    places = ", ".join(f"&{p.name}" for p in statement.parameters)
    return (
        f"struct {statement.struct_name()} {{\n"
        f"  static constexpr const postgres::Statement* statement = &{statement.name};\n{members}"
        f"  operator postgres::BoundStatement() && "
        f"{{ return postgres::bound({statement.name}, {{{places}}}); }}\n"
        "};\n"
    )


def topic_header(topic, statements):
    lines = [
        f"// Made by sql/embed_queries.py of sql/queries/{topic}.sql; do not edit.\n#pragma once\n",
        '#include "lib/postgres/param.h"\n',
        "namespace hostler::query {",
    ]
    for statement in statements:
        lines.append(
            f"inline constexpr postgres::Statement {statement.name}"
            f'{{"{topic}", "{statement.name}", '
            f'R"sql({statement.text})sql", {len(statement.parameters)}}};'
        )
        lines.append(struct_of(statement))
    lines.append("}  // namespace hostler::query\n")
    return "\n".join(lines)


def list_header(topics):
    lines = ["// Made by sql/embed_queries.py; do not edit.\n#pragma once\n"]
    lines += [f'#include "queries/{topic}.h"' for topic in topics]
    lines.append("\nnamespace hostler::query {")
    lines.append("inline constexpr const postgres::Statement* all[] = {")
    for statements in topics.values():
        lines += [f"    &{statement.name}," for statement in statements]
    lines.append("};\n}  // namespace hostler::query\n")
    return "\n".join(lines)


def version_header(number):
    return (
        "// Made by sql/embed_queries.py; do not edit.\n#pragma once\n\n#include <string_view>\n\n"
        "namespace hostler {\n"
        f'constexpr std::string_view schema_version_expected = "{number}";\n}}\n'
    )


def keep_or_replace(path, text):
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main(out, sql=pathlib.Path(__file__).parent):
    out, sql = pathlib.Path(out), pathlib.Path(sql)
    topics = {path.stem: statements_in(path) for path in sorted((sql / "queries").glob("*.sql"))}
    (out / "queries").mkdir(parents=True, exist_ok=True)
    keep_or_replace(out / "schema_version.h", version_header((sql / "VERSION").read_text().strip()))
    for topic, statements in topics.items():
        keep_or_replace(out / "queries" / f"{topic}.h", topic_header(topic, statements))
    # The Makefile's target: always new.
    (out / "queries" / "all.h").write_text(list_header(topics), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
