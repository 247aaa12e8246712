// See runner/models/provider_error.h.
#include "runner/models/provider_error.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "lib/ascii.h"
#include "lib/blank_text.h"
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
    // Google and those who speak like it.
    {"INVALID_ARGUMENT", 400},
    {"FAILED_PRECONDITION", 400},
    {"UNAUTHENTICATED", 401},
    {"PERMISSION_DENIED", 403},
    {"NOT_FOUND", 404},
    {"RESOURCE_EXHAUSTED", 429},
    {"UNAVAILABLE", 503},
    {"DEADLINE_EXCEEDED", 504},
    // Bedrock's gateways.
    {"ValidationException", 400},
    {"AccessDeniedException", 403},
    {"ThrottlingException", 429},
    {"ServiceUnavailableException", 503},
    // Mistral, Kimi.
    {"rate_limited", 429},
    {"engine_overloaded_error", 503},
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

// Value of the six bytes of an escape \uXXXX, or -1.
int code_unit(std::string_view at) {
  unsigned value = 0;
  if (at.size() < 6 || at[0] != '\\' || at[1] != 'u') return -1;
  auto [end, fault] = std::from_chars(at.data() + 2, at.data() + 6, value, 16);
  return fault == std::errc() && end == at.data() + 6 ? static_cast<int>(value) : -1;
}

// Replacement for an escape that lib/json refuses: NUL, or half of a surrogate pair.
std::string mended_escape(int unit, bool keeps_halves) {
  if (unit == 0 || !keeps_halves) return "\\ufffd";
  // The half's mark in the last private plane, as a pair.
  unsigned mark = half_mark_base - 0x10000 + static_cast<unsigned>(unit);
  return fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (mark >> 10), 0xdc00 + (mark & 0x3ff));
}

std::string mend_escapes(std::string_view text, bool keeps_halves) {
  std::string mended;
  mended.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      size_t next = std::min(text.find('\\', i), text.size());
      mended.append(text.substr(i, next - i));
      i = next;
      continue;
    }
    int first = code_unit(text.substr(i));
    if (first < 0) {
      mended.append(text.substr(i, 2));
      i += 2;
      continue;
    }
    bool is_half = first >= 0xd800 && first <= 0xdfff;
    int second = first >= 0xd800 && first < 0xdc00 ? code_unit(text.substr(i + 6)) : -1;
    bool is_pair = second >= 0xdc00 && second <= 0xdfff;
    if (is_pair) {
      mended.append(text.substr(i, 12));
      i += 12;
      continue;
    }
    if (first == 0 || is_half) {
      mended += mended_escape(first, keeps_halves);
    } else {
      mended.append(text.substr(i, 6));
    }
    i += 6;
  }
  return mended;
}

std::optional<Json> peers_json(std::string_view text) {
  std::variant<Json, JsonFault> parsed = parse_bounded_json(text, json_values_of_peer_max);
  if (Json* value = std::get_if<Json>(&parsed)) return std::move(*value);
  return std::nullopt;
}

// Whether an error says nothing: servers send the member with each event.
bool is_nothing(const Json& value) {
  if (value.is_null()) return true;
  if (const bool* flag = value.as_boolean()) return !*flag;
  if (const std::string* text = value.as_text()) return is_blank_text(*text);
  if (std::optional<double> number = value.as_number()) return *number == 0;
  if (const Json::Array* items = value.as_array()) {
    return std::all_of(items->begin(), items->end(), is_nothing);
  }
  const Json::Object& members = *value.as_object();
  return std::all_of(members.begin(), members.end(),
                     [](const Json::Member& member) { return is_nothing(member.second); });
}

std::string words_of(const Json& value, int depth);

// FastAPI: where the fault is, then what it is.
std::string located_words(const Json& item, int depth) {
  std::string where;
  if (const Json* loc = item.find("loc"); loc != nullptr && loc->is_array()) {
    for (const Json& step : *loc->as_array()) {
      if (!where.empty()) where += '.';
      where += step.is_text() ? *step.as_text() : step.dump();
    }
  }
  std::string what = words_of(*item.find("msg"), depth + 1);
  return where.empty() ? what : where + ": " + what;
}

std::string list_words(const Json::Array& items, int depth) {
  constexpr size_t told_max = 4;
  std::string all;
  for (size_t i = 0; i < std::min(items.size(), told_max); ++i) {
    std::string words = words_of(items[i], depth + 1);
    if (words.empty()) continue;
    if (!all.empty()) all += "; ";
    all += words;
  }
  return all;
}

// OpenRouter appends its provider's own words to its own.
std::string with_raw(std::string words, const Json& object, int depth) {
  const Json* metadata = object.find("metadata");
  const Json* raw = metadata == nullptr ? nullptr : metadata->find("raw");
  if (raw == nullptr) return words;
  std::string inner = words_of(*raw, depth + 1);
  return inner.empty() ? words : words + ": " + inner;
}

// Laravel, Rails: a list of words for each member that is wrong.
std::string words_by_member(const Json::Object& members, int depth) {
  constexpr size_t members_max = 4;
  std::string all;
  size_t count = 0;
  for (const auto& [name, value] : members) {
    std::string words =
        value.as_number() || value.as_boolean() != nullptr ? "" : words_of(value, depth + 1);
    if (words.empty()) continue;
    if (!all.empty()) all += "; ";
    all += name + ": " + words;
    if (++count == members_max) break;
  }
  return all;
}

// Text of an error in any form, or empty.
std::string words_of(const Json& value, int depth) {
  constexpr int depth_max = 6;
  constexpr size_t nested_bytes_max = 64 * 1024;
  if (depth > depth_max || is_nothing(value)) return {};
  if (const std::string* text = value.as_text()) {
    std::string_view trimmed = ascii::trimmed(*text, ascii::white_space);
    bool is_json = trimmed.starts_with('{') || trimmed.starts_with('[');
    if (!is_json || trimmed.size() > nested_bytes_max) return std::string(trimmed);
    std::optional<Json> nested = peers_json(trimmed);
    std::string words = nested ? words_of(*nested, depth + 1) : std::string();
    return words.empty() ? std::string(trimmed) : words;
  }
  if (const Json::Array* items = value.as_array()) return list_words(*items, depth);
  if (!value.is_object()) return {};
  if (value.find("msg") != nullptr) return located_words(value, depth);
  for (const char* name : {"message", "Message", "error_description", "error", "detail", "details",
                           "errors", "error_message", "error_msg", "errorMessage", "description",
                           "title", "reason", "code", "type", "status"}) {
    const Json* member = value.find(name);
    if (member == nullptr) continue;
    std::string words = words_of(*member, depth + 1);
    if (!words.empty()) return with_raw(std::move(words), value, depth);
  }
  return words_by_member(*value.as_object(), depth);
}

void take_names(const Json& holder, ProviderError& error) {
  for (const char* name : {"code", "type", "status"}) {
    if (error.code.empty()) error.code = holder.text_or(name);
  }
  if (error.param.empty()) error.param = holder.text_or("param");
}

ProviderError error_of(const Json& document) {
  ProviderError result;
  const Json* holder = &document;
  if (holder->is_array() && !holder->as_array()->empty()) holder = &holder->as_array()->front();
  const Json* error = holder->find("error");
  if (error == nullptr || is_nothing(*error)) error = holder;
  result.message = words_of(document, 0);
  take_names(*error, result);
  take_names(*holder, result);
  bool is_named = result.message.find(result.param) != result.message.npos;
  if (!is_named && !result.message.empty()) result.message += " (" + result.param + ")";
  for (const Json* reported : {error, holder}) {
    for (const char* member : {"code", "status", "type", "status_code", "statusCode"}) {
      std::optional<int> status = status_of(reported->find(member));
      if (!status) continue;
      result.status = *status;
      return result;
    }
  }
  return result;
}

// Members with a text that only errors have.
bool has_error_words(const Json& reported) {
  return std::ranges::any_of(
      std::initializer_list<const char*>{"message", "Message", "error_message", "error_msg",
                                         "errorMessage"},
      [&](const char* name) { return !reported.text_or(name).empty(); });
}

// The title of a page, or its first heading; of a document of XML the message.
std::string page_title(std::string_view page) {
  std::string lower = ascii::lower_case(page);
  for (std::string_view name : {"title", "h1", "message"}) {
    size_t tag = lower.find("<" + std::string(name));
    size_t begin = tag == lower.npos ? tag : lower.find('>', tag);
    size_t end = begin == lower.npos ? begin : lower.find('<', begin);
    if (end == lower.npos) continue;
    std::string_view words = page.substr(begin + 1, end - begin - 1);
    return std::string(ascii::trimmed(words, ascii::white_space));
  }
  return {};
}

// The text after a mark, up to a blank or a quotation mark, becomes four stars.
void mask_behind(std::string& text, std::string_view mark, size_t kept_max) {
  constexpr std::string_view stars = "****";
  for (size_t at = text.find(mark); at != text.npos; at = text.find(mark, at)) {
    at += mark.size();
    size_t end = std::min(text.find_first_of(" \t\r\n\"'`<>,;)", at), text.size());
    if (end - at <= kept_max) continue;
    text.replace(at, end - at, stars);
    at += stars.size();
  }
}

// Queries and user names of addresses may hold keys.
void mask_addresses(std::string& text) {
  for (size_t at = text.find("://"); at != text.npos; at = text.find("://", at + 3)) {
    size_t host = at + 3;
    size_t end = std::min(text.find_first_of(" \t\r\n\"'`<>)", host), text.size());
    size_t query = text.find_first_of("?#", host);
    if (query < end) {
      text.replace(query, end - query, "?****");
      end = query;
    }
    size_t user = text.rfind('@', end);
    if (user == text.npos || user < host || text.find('/', host) < user) continue;
    text.replace(host, user - host, "****");
  }
}

}  // namespace

std::optional<ProviderError> read_provider_error(const Json& document) {
  const Json* reported = &document;
  bool is_list = document.is_array() && !document.as_array()->empty();
  if (is_list) reported = &document.as_array()->front();
  const Json* error = reported->find("error");
  if (error == nullptr || is_nothing(*error)) {
    bool is_error = reported->text_or("object") == "error" || reported->text_or("type") == "error";
    if (!is_error &&
        (reported->find("choices") != nullptr || reported->find("content") != nullptr)) {
      return std::nullopt;
    }
    const Json* detail = reported->find("detail");
    const Json* errors = reported->find("errors");
    const Json* fault = reported->find("fault");
    is_error =
        is_error || has_error_words(*reported) || (detail != nullptr && !is_nothing(*detail)) ||
        (errors != nullptr && !is_nothing(*errors)) || (fault != nullptr && !is_nothing(*fault));
    if (!is_error) return std::nullopt;
  }
  ProviderError result = error_of(document);
  if (result.message.empty()) result.message = "no message";
  return result;
}

ProviderError read_refusal(std::string_view body) {
  std::string_view text = ascii::trimmed(body, ascii::white_space);
  if (std::optional<Json> document = parse_lenient_json(text)) return error_of(*document);
  ProviderError error;
  if (text.starts_with('<')) {
    error.message = page_title(text);
  } else if (!text.starts_with('{') && !text.starts_with('[')) {
    error.message = utf8_lossy(text.substr(0, 4096));
  }
  return error;
}

std::string safe_excerpt(std::string_view text, std::string_view api_key) {
  constexpr size_t excerpt_bytes_max = 200;
  std::string safe = utf8_lossy(text.substr(0, 16 * excerpt_bytes_max));
  if (api_key.size() >= 4) {
    for (size_t at = safe.find(api_key); at != std::string::npos; at = safe.find(api_key, at)) {
      safe.replace(at, api_key.size(), "****");
    }
  }
  mask_addresses(safe);
  for (std::string_view mark : {"Bearer ", "bearer "}) mask_behind(safe, mark, 7);
  mask_behind(safe, "sk-", 12);
  std::replace_if(safe.begin(), safe.end(), ascii::is_control, ' ');
  if (safe.size() <= excerpt_bytes_max) return safe;
  return std::string(utf8_prefix(safe, excerpt_bytes_max)) + "…";
}

std::optional<Json> parse_lenient_json(std::string_view text) {
  std::optional<Json> document = peers_json(text);
  if (!document) document = peers_json(mend_escapes(utf8_lossy(text), false));
  return document;
}

std::optional<Json> parse_stream_json(std::string_view text, bool& has_halves) {
  std::optional<Json> document = peers_json(text);
  has_halves = false;
  if (document) return document;
  document = peers_json(mend_escapes(utf8_lossy(text), true));
  has_halves = document.has_value();
  return document;
}

}  // namespace hostler
