// Request lines read; see lib/http/request_target.h.
#include "lib/http/request_target.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/ascii.h"
#include "lib/error.h"
#include "lib/http/query_bound.h"
#include "lib/utf8.h"

namespace hostler::http {
namespace {

Error bad_target(const char* why) { return Error(ErrorCode::http_bad_request, why); }

// Appends the decoded text; a plus sign is a space in queries only.
void append_decoded(std::string_view text, bool plus_is_space, std::string& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      int high = i + 2 < text.size() ? ascii::hex_value(text[i + 1]) : -1;
      int low = i + 2 < text.size() ? ascii::hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) throw bad_target("The address has a broken percent escape.");
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
}

void check_text(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) throw bad_target("The address contains a NUL.");
  if (!is_utf8(text)) throw bad_target("The address is not UTF-8.");
}

void parse_path(std::string_view path, Target& target) {
  if (!path.starts_with('/')) throw bad_target("The address must begin with a slash.");
  bool is_encoded = path.find('%') != std::string_view::npos;
  if (is_encoded) target.decoded.reserve(path.size());  // views into it must not move
  std::string_view rest = path.substr(1);
  while (true) {
    size_t end = std::min(rest.find('/'), rest.size());
    std::string_view segment = rest.substr(0, end);
    if (is_encoded) {
      size_t start = target.decoded.size();
      append_decoded(segment, false, target.decoded);
      segment = std::string_view(target.decoded).substr(start);
    }
    check_text(segment);
    if (target.segment_count == path_segments_max) {
      target.is_too_deep = true;
    } else {
      target.segments[target.segment_count++] = segment;
    }
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
}

void parse_query(std::string_view query, Target& target) {
  while (!query.empty() && target.query.size() <= query_parameters_max) {
    size_t end = std::min(query.find('&'), query.size());
    std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) continue;
    size_t equals = std::min(pair.find('='), pair.size());
    std::pair<std::string, std::string>& parameter = target.query.emplace_back();
    append_decoded(pair.substr(0, equals), true, parameter.first);
    if (equals < pair.size()) append_decoded(pair.substr(equals + 1), true, parameter.second);
    check_text(parameter.first);
    check_text(parameter.second);
  }
}

}  // namespace

void parse_target(std::string_view uri, Target& target) {
  size_t question = std::min(uri.find('?'), uri.size());
  parse_path(uri.substr(0, question), target);
  if (question < uri.size()) parse_query(uri.substr(question + 1), target);
}

std::optional<Error> query_fault(const Target& target) {
  if (target.query.size() <= query_parameters_max) return std::nullopt;
  return Error(ErrorCode::http_bad_query,
               fmt::format("A query has at most {} parameters.", query_parameters_max));
}

const std::string* Target::query_value(std::string_view name) const {
  for (const auto& [known_name, value] : query) {
    if (known_name == name) return &value;
  }
  return nullptr;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  constexpr std::string_view marks = "-._~";
  std::string out;
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    bool is_plain = ascii::is_letter_or_digit(c) || marks.find(c) != std::string_view::npos;
    if (is_plain) {
      out += c;
    } else {
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

}  // namespace hostler::http
