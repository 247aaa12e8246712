// Inputs of the contract tests: the document that hostler-api serves and the routes it prints.
// Included by tests/style only.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/json.h"
#include "openapi_json.h"

namespace hostler::style {

// The served document. Empty when it is no JSON that our own reader takes.
inline Json openapi_document() { return parse_json_or_nothing(openapi_json).value_or(Json()); }

inline const Json& member_or_null(const Json& object, std::string_view name) {
  static const Json nothing;
  const Json* found = object.find(name);
  return found == nullptr ? nothing : *found;
}

// Follows one "#/components/…" reference; anything else is itself.
inline const Json& resolved(const Json& document, const Json& value) {
  std::string_view reference = value.text_or("$ref");
  if (!reference.starts_with("#/")) return value;
  const Json* at = &document;
  reference.remove_prefix(2);
  while (!reference.empty()) {
    size_t slash = std::min(reference.find('/'), reference.size());
    at = &member_or_null(*at, reference.substr(0, slash));
    reference.remove_prefix(std::min(slash + 1, reference.size()));
  }
  return *at;
}

struct Operation {
  std::string method;  // upper case
  std::string path;
  const Json* body;  // inside the document
  std::string name() const { return method + " " + path; }
};

inline std::vector<Operation> operations_of(const Json& document) {
  std::vector<Operation> operations;
  const Json::Object* paths = member_or_null(document, "paths").as_object();
  if (paths == nullptr) return {};
  for (const Json::Member& path : *paths) {
    for (std::string_view method : {"get", "post", "put", "patch", "delete"}) {
      const Json* body = path.second.find(method);
      if (body == nullptr) continue;
      std::string upper;
      for (char c : method) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      operations.push_back({upper, path.first, body});
    }
  }
  return operations;
}

struct DocumentedCode {
  std::string where;   // operation and status
  std::string status;  // as written: "404", or "default"
  std::string code;
};

inline std::vector<DocumentedCode> codes_of(const Json& document) {
  std::vector<DocumentedCode> codes;
  for (const Operation& operation : operations_of(document)) {
    const Json::Object* responses = member_or_null(*operation.body, "responses").as_object();
    if (responses == nullptr) continue;
    for (const Json::Member& response : *responses) {
      const Json& content = resolved(document, response.second);
      const Json::Array* names = member_or_null(content, "x-codes").as_array();
      if (names == nullptr) continue;
      for (const Json& name : *names) {
        if (!name.is_text()) continue;
        codes.push_back({operation.name() + " " + response.first, response.first, *name.as_text()});
      }
    }
  }
  return codes;
}

}  // namespace hostler::style
