// See lib/http/scim_error.h.
#include "lib/http/scim_error.h"

#include <fmt/format.h>

#include "lib/json.h"

namespace hostler::http {
namespace {

constexpr std::string_view path_begin = "/v1/scim";
constexpr std::string_view schema = "urn:ietf:params:scim:api:messages:2.0:Error";

// Table 9 of the RFC.
std::string_view word_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::scim_exists:
      return "uniqueness";
    case ErrorCode::scim_invalid_filter:
      return "invalidFilter";
    case ErrorCode::scim_invalid_path:
      return "invalidPath";
    case ErrorCode::scim_invalid_value:
    case ErrorCode::validation_error:
      return "invalidValue";
    case ErrorCode::scim_no_target:
      return "noTarget";
    case ErrorCode::http_bad_json:
      return "invalidSyntax";
    default:
      return {};
  }
}

std::string detail_of(const Error& error) {
  if (!error.faults.empty()) {
    const FieldFault& fault = error.faults.front();
    return fmt::format("{} {}.", fault.field, fault.message);
  }
  return error.detail.empty() ? std::string(error_row(error.code).title) : error.detail;
}

}  // namespace

bool is_scim_path(std::string_view uri) {
  if (!uri.starts_with(path_begin)) return false;
  uri.remove_prefix(path_begin.size());
  return uri.empty() || uri.front() == '/' || uri.front() == '?';
}

int scim_status(const Error& error) { return error.status() == 422 ? 400 : error.status(); }

std::string scim_error_text(const Error& error) {
  JsonWriter json;
  json.begin_object().key("schemas").begin_array().text(schema).end_array();
  json.member("status", std::to_string(scim_status(error)));
  std::string_view word = word_of(error.code);
  if (!word.empty()) json.member("scimType", word);
  return json.member("detail", detail_of(error)).end_object().take();
}

}  // namespace hostler::http
