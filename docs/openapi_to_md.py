#!/usr/bin/python3
"""Turns docs/openapi.yaml into docs/api.md, the same contract for people.

openapi_to_md.py IN.yaml OUT.md; `make api-doc` calls it, and a style test tells when OUT is not
what IN says. Needs Debian's python3-yaml. It knows no route: what is not in the document is not in
the page. Lines end at column 120, so tables are lists here.
"""

import json
import re
import sys
import textwrap

import yaml

BOUNDS = [("minimum", "at least {}"), ("maximum", "at most {}"),
          ("minLength", "{} characters or more"), ("maxLength", "at most {} characters"),
          ("minItems", "{} items or more"), ("maxItems", "at most {} items"),
          ("minProperties", "{} members or more"), ("maxProperties", "at most {} members")]
OF_FEW = {"1 characters or more": "not empty", "1 items or more": "not empty",
          "1 members or more": "one member or more", "at most 1 items": "at most one item",
          "at most 1 members": "at most one member", "at most 0 items": "empty",
          "at most 0 members": "empty"}
CREDENTIALS = {"accessToken": "a user's access token", "apiKey": "an API key",
               "refreshCookie": "the refresh cookie",
    "scimToken": "a token of SCIM",
}
METHODS = ["get", "post", "put", "patch", "delete"]


def resolved(document, node):
    while isinstance(node, dict) and "$ref" in node:
        target = document
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


def schema_link(reference):
    name = reference.split("/")[-1]
    return f"[{name}](#{name.lower()})"


def type_words(document, schema):
    if "$ref" in schema:
        return schema_link(schema["$ref"])
    for word in ("oneOf", "anyOf"):
        if word in schema:
            return " or ".join(type_words(document, part) for part in schema[word])
    if "allOf" in schema:
        return " with ".join(type_words(document, part) for part in schema["allOf"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        shown = {"": '""', None: "null"}
        return " or ".join(f"`{shown.get(value, value)}`" for value in schema["enum"])
    kind = schema.get("type", "any value")
    kinds = kind if isinstance(kind, list) else [kind]
    words = []
    for name in kinds:
        if name == "array":
            name = f"list of {type_words(document, schema.get('items', {}))}"
        elif name == "string" and "format" in schema:
            name = schema["format"]
        words.append(name)
    return " or ".join(words)


def bounds(schema):
    words = []
    for key, text in BOUNDS:
        if key in schema:
            value = schema[key]
            said = text.format(f"{value:,}" if isinstance(value, int) and value >= 10000 else value)
            words.append(OF_FEW.get(said, said))
    for key, what in (("propertyNames", "names"), ("additionalProperties", "values")):
        inner = schema.get(key)
        if isinstance(inner, dict) and bounds(inner):
            words.append(f"{what} ({bounds(inner)})")
    if "pattern" in schema:
        words.append(f"`{schema['pattern']}`")
    if "default" in schema:
        words.append(f"default `{json.dumps(schema['default']).strip(chr(34))}`")
    return ", ".join(words)


class Page:
    def __init__(self):
        self.lines = []

    def line(self, text=""):
        self.lines.append(text)

    def paragraph(self, text):
        for part in re.split(r"\n\s*\n", text.strip()):
            if part.startswith("|"):
                self.lines += part.split("\n")
            elif part.startswith("- "):
                for item in re.split(r"(?m)^- ", part)[1:]:
                    self.item(item)
            else:
                self.wrapped(" ".join(part.split()), "", "")
            self.line()

    def item(self, text, depth=0):
        self.wrapped(" ".join(text.split()), "  " * depth + "- ", "  " * depth + "  ")

    def wrapped(self, text, first, rest):
        self.lines += textwrap.wrap(
            text, 118, initial_indent=first, subsequent_indent=rest, break_long_words=False,
            break_on_hyphens=False)


def one_line(text):
    """The text without line breaks; items of a list become sentences."""
    return " ".join(re.sub(r"(?m)^- ", "", text).split())


def remarks(*texts):
    said = [one_line(text) for text in texts if text]
    return ": " + ". ".join(said) if said else ""


def show_members(document, page, schema, depth=0, needed="always there"):
    schema = resolved(document, schema)
    for part in schema.get("allOf", []):
        show_members(document, page, part, depth, needed)
    required = schema.get("required", [])
    for name, member in schema.get("properties", {}).items():
        words = f"`{name}` {type_words(document, member)}"
        if name in required:
            words += f", {needed}"
        page.item(words + remarks(bounds(member), member.get("description", "")), depth)
        for part in member.get("oneOf", [member]):
            inner = part if "properties" in part else part.get("items", {})
            if "$ref" not in inner and "properties" in inner:
                show_members(document, page, inner, depth + 1, needed)


def show_parameters(document, page, parameters):
    for parameter in (resolved(document, each) for each in parameters):
        schema = parameter.get("schema", {})
        words = f"{parameter['in']} `{parameter['name']}` {type_words(document, schema)}"
        if parameter.get("required") and parameter["in"] != "path":
            words += ", required"
        limits = bounds(resolved(document, schema))
        page.item(words + remarks(limits, parameter.get("description", "")))


def content_words(document, content):
    words = []
    for media, holder in content.items():
        schema = holder.get("schema", {})
        words.append(type_words(document, schema) if "json" in media else f"`{media}`")
    return " or ".join(words)


def show_body(document, page, body):
    body = resolved(document, body)
    for media, holder in body.get("content", {}).items():
        schema = holder.get("schema", {})
        optional = "" if body.get("required") else " (may be left out)"
        words = f"body `{media}`{optional}: {type_words(document, schema)}"
        if "$ref" in schema:
            page.item(words)
        else:
            page.item(words + remarks(bounds(schema), schema.get("description", "")))
            show_members(document, page, schema, 1, "required")


def show_answers(document, page, responses):
    for status, response in responses.items():
        if status == "default":
            continue
        is_shared = "$ref" in response
        response = resolved(document, response)
        listed = response.get("x-codes", []) + response.get("x-run-codes", [])
        codes = ", ".join(f"`{code}`" for code in listed)
        if is_shared and codes:  # what it means stands once, below "Shared answers"
            page.item(f"**{status}** {codes}")
            continue
        words = f"**{status}** {one_line(response.get('description', ''))}"
        content = {} if status.startswith(("4", "5")) else response.get("content", {})
        if content:
            words += f" {content_words(document, content)}"
        page.item(f"{words} {codes}".strip())
        for holder in content.values():
            if "$ref" not in holder.get("schema", {"$ref": ""}):
                show_members(document, page, holder["schema"], 1)


def who_may(operation, document):
    security = operation.get("security", document.get("security", []))
    if not security:
        return "no credential"
    return " or ".join(CREDENTIALS[name] for each in security for name in each)


def show_operation(document, page, path, method, shared, operation):
    page.line(f"### {method.upper()} {path}")
    page.line()
    page.paragraph(f"{operation['summary']}")
    if operation.get("description"):
        page.paragraph(operation["description"])
    page.item(f"needs {who_may(operation, document)}")
    show_parameters(document, page, shared + operation.get("parameters", []))
    if "requestBody" in operation:
        show_body(document, page, operation["requestBody"])
    show_answers(document, page, operation.get("responses", {}))
    page.line()


def show_webhook(document, page, name, operation):
    page.line(f"### {name}")
    page.line()
    page.paragraph(operation["summary"])
    page.paragraph(operation["description"])
    show_parameters(document, page, operation["parameters"])
    show_body(document, page, operation["requestBody"])
    show_answers(document, page, operation["responses"])
    page.line()


def named(document, node, found):
    """The schemas that the node names, and those that these name."""
    if isinstance(node, list):
        for each in node:
            named(document, each, found)
    if not isinstance(node, dict):
        return
    reference = node.get("$ref", "")
    if reference not in found:
        found.add(reference)
        if reference:
            named(document, resolved(document, node), found)
    for each in node.values():
        named(document, each, found)


def asked_alone(document):
    """The schemas that clients send and are not answered."""
    asked, answered = set(), set()
    for item in document["paths"].values():
        for operation in item.values():
            if isinstance(operation, dict):
                named(document, operation.get("requestBody", {}), asked)
                named(document, operation.get("responses", {}), answered)
    return {reference.split("/")[-1] for reference in asked - answered}


def show_schema(document, page, name, schema, needed):
    page.line(f"### {name}")
    page.line()
    if schema.get("description"):
        page.paragraph(schema["description"])
    if "properties" not in schema and "allOf" not in schema:
        page.paragraph(type_words(document, schema) + remarks(bounds(schema)))
        shown = [part for part in schema.get("oneOf", []) if "properties" in part]
        for part in shown:
            page.item(type_words(document, part) + remarks(part.get("description", "")))
            show_members(document, page, part, 1, needed)
        if shown:
            page.line()
        return
    show_members(document, page, schema, 0, needed)
    page.line()


def main(yaml_path, page_path):
    with open(yaml_path, encoding="utf-8") as source:
        document = yaml.safe_load(source)
    page = Page()
    page.line(f"# {document['info']['title']}")
    page.line()
    page.line("<!-- Made from docs/openapi.yaml by make api-doc; do not edit. -->")
    page.line()
    page.paragraph(document["info"]["description"])
    operations = {}
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                told = (path, method, item.get("parameters", []), item[method])
                operations.setdefault(item[method]["tags"][0], []).append(told)
    for tag in document["tags"]:
        anchor = tag["name"].lower().replace(" ", "-")
        page.item(f"[{tag['name']}](#{anchor}): {tag['description']}")
    page.item("[Sent to your servers](#sent-to-your-servers): events of runs and calls of tools.")
    page.item("[Shared answers](#shared-answers): problems that many calls may answer.")
    page.item("[Shapes](#shapes): what the answers are made of.")
    page.line()
    for tag in document["tags"]:
        page.line(f"## {tag['name']}")
        page.line()
        page.paragraph(tag["description"])
        for path, method, shared, operation in operations.pop(tag["name"], []):
            show_operation(document, page, path, method, shared, operation)
    if operations:
        raise SystemExit(f"{yaml_path}: tags without a description: {', '.join(operations)}")
    page.line("## Sent to your servers")
    page.line()
    for name, item in document["webhooks"].items():
        show_webhook(document, page, name, item["post"])
    page.line("## Shared answers")
    page.line()
    for response in document["components"]["responses"].values():
        for code in response.get("x-codes", []):
            page.item(f"`{code}`: {response['description']}")
    page.line()
    page.line("## Shapes")
    page.line()
    asked = asked_alone(document)
    for name, schema in document["components"]["schemas"].items():
        show_schema(document, page, name, schema, "required" if name in asked else "always there")
    while page.lines and not page.lines[-1]:
        page.lines.pop()
    with open(page_path, "w", encoding="utf-8") as out:
        out.write("\n".join(page.lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: openapi_to_md.py IN.yaml OUT.md")
    main(*sys.argv[1:])
