// See tests/support/clients/openapi_document.h.
#include "tests/support/clients/openapi_document.h"

#include <algorithm>
#include <string_view>

#include "openapi_json.h"

namespace hostler::testing_support {

const Json& openapi_document() {
  static const Json parsed = parse_json_or_nothing(openapi_json).value_or(Json());
  return parsed;
}

const Json& resolved(const Json& value) {
  std::string_view reference = value.text_or("$ref");
  if (!reference.starts_with("#/")) return value;
  reference.remove_prefix(2);
  const Json* at = &openapi_document();
  while (!reference.empty()) {
    size_t slash = std::min(reference.find('/'), reference.size());
    at = at->find(reference.substr(0, slash));
    if (at == nullptr) return value;
    reference.remove_prefix(std::min(slash + 1, reference.size()));
  }
  return resolved(*at);
}

}  // namespace hostler::testing_support
