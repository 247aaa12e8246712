#!/usr/bin/python3
"""Turns docs/openapi.yaml into JSON and into the header that hostler-api serves it from.

Called by the Makefile: openapi_to_json.py IN.yaml OUT.json OUT.h. Runs at build time only, with
Debian's python3-yaml. Refuses input that YAML would accept silently: a member given twice, a value
that is not JSON (an unquoted date), a text that an unquoted comma cuts. It never checks the
document's meaning; tests/style does.
"""

import json
import sys

import yaml


class StrictLoader(yaml.SafeLoader):
    """A loader for which a doubled member is a fault, as it is for the service itself."""


def object_without_duplicates(loader, node):
    members = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise SystemExit(f"{key_node.start_mark}: quote the member {key!r}, it is not text")
        if key in members:
            raise SystemExit(f"{key_node.start_mark}: member {key!r} is given twice")
        if " " in key and value_node.value == "":
            raise SystemExit(f"{key_node.start_mark}: a comma cuts a text before {key!r}, quote it")
        members[key] = loader.construct_object(value_node, deep=True)
    return members


StrictLoader.add_constructor("tag:yaml.org,2002:map", object_without_duplicates)


def main(yaml_path, json_path, header_path):
    try:
        with open(yaml_path, encoding="utf-8") as source:
            document = yaml.load(source, StrictLoader)
    except yaml.YAMLError as fault:
        raise SystemExit(str(fault))
    document.pop("x-shapes", None)  # anchors of the source, not part of the contract
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    delimiter = "openapi_end"
    if f"){delimiter}" in text:
        raise SystemExit(f"{yaml_path}: holds the C++ delimiter {delimiter}")
    with open(json_path, "w", encoding="utf-8") as out:
        out.write(text + "\n")
    with open(header_path, "w", encoding="utf-8") as out:
        out.write(
            f"// Made from {yaml_path}; do not edit. What GET /v1/openapi.json answers.\n"
            "#pragma once\n#include <string_view>\n\n"
            # Its length is taken from the array: counting it in a constant expression has a bound.
            "inline constexpr char openapi_text[] =\n"
            f'    R"{delimiter}({text}){delimiter}";\n'
            "inline constexpr std::string_view openapi_json(openapi_text, "
            "sizeof openapi_text - 1);\n"
        )


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit("usage: openapi_to_json.py IN.yaml OUT.json OUT.h")
    main(*sys.argv[1:])
