// See fcgi/api/billing/entitlement_input.h.
#include "fcgi/api/billing/entitlement_input.h"

#include <charconv>

namespace hostler {

bool is_integer_text(const std::string& text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  auto [stopped, failure] = std::from_chars(text.data(), end, value);
  return failure == std::errc() && stopped == end && !text.empty();
}

bool is_integer_key(const std::string& key) {
  return key == "credits.monthly_grant" || key.starts_with("limit.");
}

void read_entitlement(Fields& fields, JsonWriter& json) {
  std::string key = fields.required_text("key", {.min = 1, .max = 128});
  std::string value = fields.required_text("value", {.max = 1000});
  std::string type = fields.required_choice("value_type", {"integer", "boolean", "string"});
  bool fits = (type != "integer" || is_integer_text(value)) &&
              (type != "boolean" || value == "true" || value == "false");
  if (!type.empty() && !fits && fields.has("value")) {
    fields.fault("value", "bad_format",
                 "must be " + std::string(type == "integer" ? "a whole number within 64 bits"
                                                            : "true or false"));
  }
  if (is_integer_key(key) && !type.empty() && type != "integer") {
    fields.fault("value_type", "out_of_range", "must be integer for " + key);
  }
  if (is_integer_key(key) && type == "integer" && value.starts_with('-')) {
    fields.fault("value", "out_of_range", "must not be negative");
  }
  json.member("key", key).member("value", value).member("value_type", type);
}

}  // namespace hostler
