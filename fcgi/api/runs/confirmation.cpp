// See fcgi/api/runs/confirmation.h.
#include "fcgi/api/runs/confirmation.h"

#include <variant>

#include "lib/ascii.h"
#include "lib/json_bounds.h"
#include "lib/utf8.h"

namespace hostler {
namespace {

// A fault may quote a member's name, which is as long as the client likes.
constexpr size_t fault_bytes_max = 160;

bool is_decision(std::string_view text) { return text == "approve" || text == "deny"; }

Confirmation none(std::string_view fault) {
  Confirmation confirmation;
  confirmation.fault = fault;
  return confirmation;
}

// Returns the first member that no decision has, or null.
const std::string* foreign_member(const Json& object) {
  for (const auto& [name, value] : *object.as_object()) {
    if (name != "decision" && name != "arguments" && name != "reason") return &name;
  }
  return nullptr;
}

Confirmation read_object(const Json& object) {
  if (const std::string* foreign = foreign_member(object)) {
    Confirmation confirmation = none("member");
    confirmation.member = utf8_prefix(*foreign, fault_bytes_max);
    return confirmation;
  }
  const Json* decision = object.find("decision");
  const Json* arguments = object.find("arguments");
  const Json* reason = object.find("reason");
  if (decision == nullptr || !decision->is_text() || !is_decision(*decision->as_text())) {
    return none("decision");
  }
  if (arguments != nullptr && !arguments->is_object()) return none("arguments");
  if (reason != nullptr && !reason->is_text()) return none("reason");
  if (arguments != nullptr && *decision->as_text() == "deny") return none("denied_arguments");
  Confirmation confirmation;
  confirmation.decision = *decision->as_text();
  if (arguments != nullptr) confirmation.arguments = arguments->dump();
  if (reason != nullptr) confirmation.reason = *reason->as_text();
  return confirmation;
}

}  // namespace

Confirmation read_confirmation(std::string_view content) {
  std::string_view text = ascii::trimmed(content, " \t\r\n");
  for (std::string_view word : {"approve", "deny"}) {
    if (!ascii::equal_ignoring_case(text, word)) continue;
    Confirmation confirmation;
    confirmation.decision = std::string(word);
    return confirmation;
  }
  if (!text.starts_with('{')) return none("neither");
  std::variant<Json, JsonFault> parsed = parse_bounded_json(content, json_values_of_body_max);
  if (const JsonFault* fault = std::get_if<JsonFault>(&parsed)) {
    Confirmation confirmation = none("json");
    confirmation.json_fault =
        JsonFault{fault->offset, std::string(utf8_prefix(fault->message, fault_bytes_max))};
    return confirmation;
  }
  return read_object(std::get<Json>(parsed));
}

}  // namespace hostler
