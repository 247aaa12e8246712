// Query parameters read; see fcgi/http/input.h.
#include <charconv>

#include <fmt/format.h>

#include "fcgi/http/input.h"
#include "fcgi/http/input_value.h"
#include "lib/time_text.h"

namespace hostler {
namespace {

// The whole text as a number, or nothing.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

QueryFields::QueryFields(const http::Target& target) : target_(target) {
  const auto& parameters = target.query;
  for (size_t i = 0; i < parameters.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (parameters[i].first != parameters[j].first) continue;
      fault(parameters[i].first, "doubled", "is given twice");
      break;
    }
  }
}

void QueryFields::fault(std::string_view name, std::string code, std::string message) {
  faults_.add(std::string(name), std::move(code), std::move(message));
}

std::optional<std::string> QueryFields::id(std::string_view name) {
  const std::string* value = target_.query_value(name);
  if (value == nullptr) return std::nullopt;
  return input_value::id(*value, std::string(name), faults_);
}

std::string QueryFields::required_id(std::string_view name) {
  if (target_.query_value(name) == nullptr) fault(name, "required", "is required");
  return id(name).value_or("");
}

std::optional<int64_t> QueryFields::integer(std::string_view name, Bounds bounds) {
  const std::string* value = target_.query_value(name);
  if (value == nullptr) return std::nullopt;
  std::optional<int64_t> number = number_of<int64_t>(*value);
  if (!number) {
    fault(name, "wrong_type", "must be an integer");
    return std::nullopt;
  }
  return input_value::integer(*number, bounds, std::string(name), faults_);
}

std::optional<double> QueryFields::number(std::string_view name, NumberBounds bounds) {
  const std::string* value = target_.query_value(name);
  if (value == nullptr) return std::nullopt;
  std::optional<double> number = number_of<double>(*value);
  if (!number) {
    fault(name, "wrong_type", "must be a number");
    return std::nullopt;
  }
  return input_value::number(*number, bounds, std::string(name), faults_);
}

std::optional<bool> QueryFields::boolean(std::string_view name) {
  const std::string* value = target_.query_value(name);
  if (value == nullptr) return std::nullopt;
  if (*value == "true") return true;
  if (*value == "false") return false;
  fault(name, "wrong_type", "must be true or false");
  return std::nullopt;
}

std::optional<std::string> QueryFields::text(std::string_view name, TextBounds bounds) {
  const std::string* value = target_.query_value(name);
  if (value == nullptr) return std::nullopt;
  return input_value::text(*value, bounds, std::string(name), faults_);
}

std::string QueryFields::required_text(std::string_view name, TextBounds bounds) {
  if (target_.query_value(name) == nullptr) fault(name, "required", "is required");
  return text(name, bounds).value_or("");
}

std::optional<std::string> QueryFields::choice(std::string_view name, Choices choices) {
  const std::string* value = target_.query_value(name);
  if (value == nullptr) return std::nullopt;
  return input_value::choice(*value, choices, std::string(name), faults_);
}

std::optional<std::string> QueryFields::date(std::string_view name) {
  const std::string* value = target_.query_value(name);
  if (value == nullptr) return std::nullopt;
  if (parse_date(*value)) return *value;
  fault(name, "bad_format", "must be a date like 2026-11-20");
  return std::nullopt;
}

std::optional<std::string> QueryFields::time(std::string_view name) {
  const std::string* value = target_.query_value(name);
  if (value == nullptr) return std::nullopt;
  return input_value::time(*value, std::string(name), faults_);
}

void check_scope(const http::Target& target) {
  QueryFields query(target);
  query.choice("scope", {"platform", "org"});
  query.check();
}

}  // namespace hostler
