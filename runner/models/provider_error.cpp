// See runner/models/provider_error.h.
#include "runner/models/provider_error.h"

#include <algorithm>
#include <charconv>

#include "lib/ascii.h"
#include "lib/json_bounds.h"
#include "lib/utf8.h"

namespace hostler {
namespace {

struct NamedStatus {
  std::string_view name;
  int status;
};

// Types and codes of OpenAI, Anthropic and the servers that speak like them.
constexpr NamedStatus named_statuses[] = {
    {"invalid_request_error", 400},
    {"BadRequestError", 400},
    {"context_length_exceeded", 400},
    {"billing_error", 400},
    {"authentication_error", 401},
    {"invalid_api_key", 401},
    {"permission_error", 403},
    {"not_found_error", 404},
    {"model_not_found", 404},
    {"NotFoundError", 404},
    {"request_too_large", 413},
    {"rate_limit_error", 429},
    {"rate_limit_exceeded", 429},
    {"insufficient_quota", 429},
    {"requests", 429},
    {"tokens", 429},
    {"timeout_error", 504},
    {"overloaded_error", 529},
};

std::optional<int> status_of(const Json* value) {
  if (value == nullptr) return std::nullopt;
  int64_t number = 0;
  if (const int64_t* integer = value->as_integer()) {
    number = *integer;
  } else if (const std::string* text = value->as_text()) {
    for (const NamedStatus& named : named_statuses) {
      if (named.name == *text) return named.status;
    }
    std::from_chars(text->data(), text->data() + text->size(), number);
  }
  if (number < 400 || number > 599) return std::nullopt;
  return static_cast<int>(number);
}

// A \uXXXX escape that lib/json refuses: NUL, or half of a surrogate pair without the other.
size_t bad_escape_bytes(std::string_view text) {
  auto code_unit = [](std::string_view at) -> int {
    unsigned value = 0;
    if (at.size() < 6 || at[0] != '\\' || at[1] != 'u') return -1;
    auto [end, fault] = std::from_chars(at.data() + 2, at.data() + 6, value, 16);
    return fault == std::errc() && end == at.data() + 6 ? static_cast<int>(value) : -1;
  };
  int first = code_unit(text);
  if (first == 0) return 6;
  if (first < 0xd800 || first > 0xdfff) return 0;
  int second = first < 0xdc00 ? code_unit(text.substr(6)) : -1;
  bool is_pair = second >= 0xdc00 && second <= 0xdfff;
  return is_pair ? 0 : 6;
}

std::string mend_escapes(std::string_view text) {
  std::string mended;
  mended.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    size_t bad = text[i] == '\\' ? bad_escape_bytes(text.substr(i)) : 0;
    if (bad > 0) {
      mended += "\\ufffd";
      i += bad;
      continue;
    }
    size_t count = text[i] == '\\' && i + 1 < text.size() ? 2 : 1;
    // A good pair is taken whole, so that its second half is not checked alone.
    if (count == 2 && text[i + 1] == 'u' && i + 3 < text.size() &&
        (text[i + 2] == 'd' || text[i + 2] == 'D') && text[i + 3] >= '8') {
      count = std::min<size_t>(12, text.size() - i);
    }
    mended.append(text.substr(i, count));
    i += count;
  }
  return mended;
}

std::optional<Json> peers_json(std::string_view text) {
  std::variant<Json, JsonFault> parsed = parse_bounded_json(text, json_values_of_peer_max);
  if (Json* value = std::get_if<Json>(&parsed)) return std::move(*value);
  return std::nullopt;
}

}  // namespace

std::optional<ProviderError> read_provider_error(const Json& document) {
  const Json* error = document.find("error");
  bool is_error = document.text_or("object") == "error" || document.text_or("type") == "error";
  if (error == nullptr || error->is_null()) {
    if (!is_error) return std::nullopt;
    error = &document;
  }
  ProviderError result;
  if (const std::string* text = error->as_text()) {
    result.message = *text;
    result.status = status_of(document.find("status")).value_or(500);
    return result;
  }
  result.message = error->text_or("message", "no message");
  for (const char* member : {"code", "status", "type"}) {
    if (std::optional<int> status = status_of(error->find(member))) {
      result.status = *status;
      break;
    }
  }
  return result;
}

std::string safe_excerpt(std::string_view text, std::string_view api_key) {
  constexpr size_t excerpt_bytes_max = 200;
  std::string safe = utf8_lossy(text.substr(0, 16 * excerpt_bytes_max));
  if (api_key.size() >= 4) {
    for (size_t at = safe.find(api_key); at != std::string::npos; at = safe.find(api_key, at)) {
      safe.replace(at, api_key.size(), "****");
    }
  }
  std::replace_if(safe.begin(), safe.end(), ascii::is_control, ' ');
  if (safe.size() <= excerpt_bytes_max) return safe;
  return std::string(utf8_prefix(safe, excerpt_bytes_max)) + "…";
}

std::optional<Json> parse_lenient_json(std::string_view text) {
  std::optional<Json> document = peers_json(text);
  if (!document) document = peers_json(mend_escapes(utf8_lossy(text)));
  return document;
}

}  // namespace hostler
