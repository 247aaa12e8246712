// FastCGI parameters and request lines read; see fcgi/http/request.h.
#include "fcgi/http/request.h"

#include <array>
#include <charconv>
#include <utility>

#include "fcgi/http/spooled_body.h"
#include "lib/ascii.h"
#include "lib/crypto.h"
#include "lib/ids.h"

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

Request request_of(const char* const* params) {
  Request request;
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
    if (name == "HTTP_X_FORWARDED_FOR") request.forwarded_for = value;
    if (name == "HTTP_CF_CONNECTING_IP") {
      request.connecting_ip = request.connecting_ip.empty() ? value : "twice";
    }
    if (name == "HTTP_TRACEPARENT") request.traceparent = value;
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
  if (request.trace_id.empty()) request.trace_id = make_trace_id();
  return request;
}

void make_room_for_body(Request& request, int64_t file_bytes_max) {
  constexpr int64_t memory_bytes_max = 1 << 20;  // as body_bytes_limit of fcgi/http/route.h
  constexpr int64_t form_bytes_max = 64 << 10;   // beside the file, as nginx admits it
  int64_t length = request.content_length;
  if (is_upload(request)) {
    bool has_room = length <= file_bytes_max + form_bytes_max;
    if (has_room) request.spooled = std::make_shared<SpooledBody>();
  } else if (length > 0 && length <= memory_bytes_max) {
    request.body.resize(static_cast<size_t>(length));
  }
}

bool is_upload(const Request& request) {
  constexpr std::string_view form = "multipart/form-data";
  std::string_view path = request.uri.substr(0, request.uri.find('?'));
  return request.method == Method::post && path == "/v1/files" &&
         ascii::equal_ignoring_case(request.content_type.substr(0, form.size()), form);
}

}  // namespace hostler
