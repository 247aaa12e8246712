// Single values checked; see fcgi/http/input_value.h.
#include "fcgi/http/input_value.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/ascii.h"
#include "lib/control_characters.h"
#include "lib/ids.h"
#include "lib/time_text.h"
#include "lib/unicode.h"
#include "lib/utf8.h"

namespace hostler {

void Faults::add(std::string field, std::string code, std::string message) {
  for (const FieldFault& known : list_) {
    if (known.field == field) return;  // the first fault of a field says enough
  }
  list_.push_back({std::move(field), std::move(code), std::move(message)});
}

void Faults::check() {
  if (!list_.empty()) throw Error::validation(std::move(list_));
}

namespace input_value {

std::optional<std::string> text(std::string_view value, const TextBounds& bounds,
                                const std::string& field, Faults& faults) {
  if (bounds.trims) value = ascii::trimmed(value, ascii::white_space);
  size_t count = character_count(value);
  if (count < bounds.min) {
    bool is_empty = value.empty();
    faults.add(field, is_empty ? "required" : "too_short",
               is_empty ? "must not be empty"
                        : fmt::format("must have at least {} characters", bounds.min));
    return std::nullopt;
  }
  if (value.size() > bounds.bytes_max) {
    faults.add(field, "too_long", fmt::format("must have at most {} bytes", bounds.bytes_max));
    return std::nullopt;
  }
  if (count > bounds.max) {
    faults.add(field, "too_long", fmt::format("must have at most {} characters", bounds.max));
    return std::nullopt;
  }
  if (bounds.is_name && !value.empty()) {
    std::optional<std::string> fault = unicode::visible_name_fault(value);
    if (fault) {
      faults.add(field, "bad_format", "must " + *fault);
      return std::nullopt;
    }
    return unicode::nfc(value);
  }
  if (!bounds.takes_control && has_control(value)) {
    faults.add(field, "bad_format", "must not contain control characters");
    return std::nullopt;
  }
  return std::string(value);
}

std::string range_text(int64_t min, int64_t max) {
  if (min == INT64_MIN && max == INT64_MAX) return "must fit into 64 bits";
  if (max == INT64_MAX) return fmt::format("must be at least {}", min);
  if (min == INT64_MIN) return fmt::format("must be at most {}", max);
  return fmt::format("must be {} to {}", min, max);
}

std::optional<int64_t> integer(int64_t value, Bounds bounds, const std::string& field,
                               Faults& faults) {
  if (value >= bounds.min && value <= bounds.max) return value;
  faults.add(field, "out_of_range", range_text(bounds.min, bounds.max));
  return std::nullopt;
}

std::optional<double> number(double value, NumberBounds bounds, const std::string& field,
                             Faults& faults) {
  if (value >= bounds.min && value <= bounds.max) return value;
  faults.add(field, "out_of_range", fmt::format("must be {} to {}", bounds.min, bounds.max));
  return std::nullopt;
}

std::optional<std::string> choice(std::string_view value, Choices choices, const std::string& field,
                                  Faults& faults) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return std::string(value);
  faults.add(field, "unknown", fmt::format("must be one of {}", fmt::join(choices, ", ")));
  return std::nullopt;
}

std::optional<std::string> id(std::string_view value, const std::string& field, Faults& faults) {
  if (is_uuid(value)) return std::string(value);
  faults.add(field, "bad_format", "must be an id: a UUID in lower case");
  return std::nullopt;
}

std::optional<std::string> time(std::string_view value, const std::string& field, Faults& faults) {
  // In UTC: Postgres takes no offset of 16 hours and more.
  if (std::optional<int64_t> unix_ms = parse_rfc3339(value)) return rfc3339(*unix_ms);
  faults.add(field, "bad_format", "must be an RFC 3339 time like 2026-11-20T15:04:05Z");
  return std::nullopt;
}

}  // namespace input_value
}  // namespace hostler
