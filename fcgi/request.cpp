// FastCGI parameters and request lines read; see fcgi/request.h.
#include "fcgi/request.h"

#include <algorithm>
#include <charconv>

#include "lib/crypto.h"
#include "lib/json.h"

namespace hostler {
namespace {

constexpr std::array<std::pair<Method, std::string_view>, 7> methods{
    {{Method::get, "GET"},
     {Method::head, "HEAD"},
     {Method::post, "POST"},
     {Method::put, "PUT"},
     {Method::patch, "PATCH"},
     {Method::del, "DELETE"},
     {Method::options, "OPTIONS"}}};

Error bad_target(const char* why) { return Error(ErrorCode::http_bad_request, why); }

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Appends the decoded text; a plus sign is a space in queries only.
void append_decoded(std::string_view text, bool plus_is_space, std::string& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
      int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) throw bad_target("The address has a broken percent escape.");
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
}

void check_text(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) throw bad_target("The address holds a NUL.");
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
  while (!query.empty()) {
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

bool is_trace_id(std::string_view text) {
  return text.size() == 32 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

Method method_named(std::string_view name) {
  for (const auto& [method, known_name] : methods) {
    if (known_name == name) return method;
  }
  return Method::other;
}

std::string_view method_name(Method method) {
  for (const auto& [known, name] : methods) {
    if (known == method) return name;
  }
  return "OTHER";
}

void parse_target(std::string_view uri, Target& target) {
  size_t question = std::min(uri.find('?'), uri.size());
  parse_path(uri.substr(0, question), target);
  if (question < uri.size()) parse_query(uri.substr(question + 1), target);
}

std::string_view Request::path_value(std::string_view name) const {
  for (size_t i = 0; i < path_value_count; ++i) {
    if (path_values[i].first == name) return path_values[i].second;
  }
  throw Error(ErrorCode::internal_error, {}, "the route has no {" + std::string(name) + "}");
}

std::string_view Request::header(std::string_view fcgi_name) const {
  for (const char* const* param = params; param != nullptr && *param != nullptr; ++param) {
    std::string_view pair(*param);
    if (pair.size() > fcgi_name.size() && pair[fcgi_name.size()] == '=' &&
        pair.starts_with(fcgi_name)) {
      return pair.substr(fcgi_name.size() + 1);
    }
  }
  return {};
}

const std::string* Request::query_value(std::string_view name) const {
  for (const auto& [known_name, value] : target.query) {
    if (known_name == name) return &value;
  }
  return nullptr;
}

void read_params(const char* const* params, Request& request) {
  request.params = params;
  for (; *params != nullptr; ++params) {
    std::string_view pair(*params);
    size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    std::string_view name = pair.substr(0, equals);
    std::string_view value = pair.substr(equals + 1);
    if (name == "REQUEST_METHOD") request.method = method_named(value);
    if (name == "REQUEST_URI") request.uri = value;
    if (name == "CONTENT_TYPE") request.content_type = value;
    if (name == "REMOTE_ADDR") request.peer_address = value;
    if (name == "HTTPS") request.is_tls = value == "on";
    if (name == "HTTP_AUTHORIZATION") request.authorization = value;
    if (name == "HTTP_X_ORG_ID") request.org_id_wanted = value;
    if (name == "HTTP_ORIGIN") request.origin = value;
    if (name == "HTTP_USER_AGENT") request.user_agent = value;
    if (name == "TRACE_ID" && is_trace_id(value)) request.trace_id = value;
    if (name == "CONTENT_LENGTH" && !value.empty()) {
      const char* end = value.data() + value.size();
      auto [stop, fault] = std::from_chars(value.data(), end, request.content_length);
      // nginx sends digits; anything else reads as a body that cannot be taken.
      bool is_number = fault == std::errc() && stop == end && request.content_length >= 0;
      if (!is_number) request.content_length = INT64_MAX;
    }
  }
  request.client_ip = request.peer_address;
  if (request.trace_id.empty()) request.trace_id = make_trace_id();
}

}  // namespace hostler
