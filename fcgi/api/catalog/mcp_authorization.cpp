// See fcgi/api/catalog/mcp_authorization.h.
#include "fcgi/api/catalog/mcp_authorization.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "fcgi/identity/sealed_secret.h"
#include "lib/ascii.h"

namespace hostler {
namespace {

constexpr size_t headers_max = 16;
constexpr size_t header_name_bytes_max = 100;
constexpr size_t header_value_bytes_max = 8192;
constexpr size_t scopes_max = 64;
constexpr TextBounds token_bounds{.min = 1, .max = header_value_bytes_max};
constexpr TextBounds client_bounds{.min = 1, .max = 2048};
constexpr TextBounds scope_bounds{.min = 1, .max = 256};

// RFC 9110, field-vchar without obs-text; a token has no blanks either.
bool is_visible(std::string_view text, bool takes_blanks) {
  return std::all_of(text.begin(), text.end(), [takes_blanks](char c) {
    return (c > ' ' && c < 0x7f) || (takes_blanks && c == ' ');
  });
}

bool is_header_name(std::string_view name) {
  return name.size() <= header_name_bytes_max && ascii::is_token(name);
}

// Header names with a meaning in the protocol, or in HTTP, that a tenant must not change.
bool is_ours(std::string_view lower) {
  constexpr std::array<std::string_view, 14> ours{"accept",
                                                  "accept-encoding",
                                                  "connection",
                                                  "content-encoding",
                                                  "content-length",
                                                  "expect",
                                                  "content-type",
                                                  "host",
                                                  "transfer-encoding",
                                                  "keep-alive",
                                                  "te",
                                                  "trailer",
                                                  "last-event-id",
                                                  "upgrade"};
  return lower.starts_with("mcp-") || lower.starts_with("proxy-") ||
         std::find(ours.begin(), ours.end(), lower) != ours.end();
}

void read_bearer(Fields& fields, McpAuthorization& read) {
  std::string token = fields.required_text("token", token_bounds);
  if (!is_visible(token, false)) {
    fields.fault("token", "bad_format", "must be visible ASCII characters without blanks");
  }
  read.secret = JsonWriter().begin_object().member("token", token).end_object().take();
}

// Their names are shown, their values never.
void read_headers(Fields& fields, McpAuthorization& read) {
  const Json* given = fields.any("headers");
  const Json::Object* headers = given == nullptr ? nullptr : given->as_object();
  if (headers == nullptr || headers->empty() || headers->size() > headers_max) {
    fields.fault("headers", given == nullptr ? "required" : "bad_format",
                 fmt::format("must be an object of 1 to {} headers", headers_max));
    return;
  }
  JsonWriter names;
  JsonWriter secret;
  names.begin_object().key("names").begin_array();
  secret.begin_object().key("headers").begin_object();
  std::vector<std::string> seen;
  for (const auto& [name, value] : *headers) {
    std::string lower = ascii::lower_case(name);
    std::string field = fmt::format("headers.{}", name.substr(0, header_name_bytes_max));
    const std::string* text = value.as_text();
    bool is_twice = std::find(seen.begin(), seen.end(), lower) != seen.end();
    if (!is_header_name(name) || is_ours(lower) || is_twice) {
      fields.fault(field, "bad_format",
                   "must be the name of a header, given once, that Hostler does not set itself");
    } else if (text == nullptr || text->size() > header_value_bytes_max ||
               !is_visible(*text, true)) {
      fields.fault(field, "bad_format", "must be a text of at most 8192 visible ASCII characters");
    } else {
      names.text(name);
      secret.member(name, *text);
      seen.push_back(std::move(lower));
    }
  }
  read.settings = names.end_array().end_object().take();
  read.secret = secret.end_object().end_object().take();
}

void read_oauth(Fields& fields, McpAuthorization& read) {
  std::optional<std::string> client_id = fields.nullable_text("client_id", client_bounds).value;
  std::optional<std::string> secret = fields.nullable_text("client_secret", client_bounds).value;
  if (secret && !client_id) {
    fields.fault("client_id", "required", "is required beside client_secret");
  }
  std::vector<std::string> scopes = fields.optional_texts("scopes", scopes_max, scope_bounds)
                                        .value_or(std::vector<std::string>());
  for (size_t i = 0; i < scopes.size(); ++i) {
    if (is_visible(scopes[i], false)) continue;
    fields.fault(fmt::format("scopes.{}", i), "bad_format", "must be one scope, without blanks");
  }
  std::string per = fields.required_choice("per", {"user", "org"});
  JsonWriter json;
  json.begin_object().key("client_id");
  if (client_id) {
    json.text(*client_id);
  } else {
    json.null();
  }
  json.key("scopes").begin_array();
  for (const std::string& scope : scopes) json.text(scope);
  read.settings = json.end_array().member("per", per).end_object().take();
  if (!secret) return;
  read.secret = JsonWriter().begin_object().member("client_secret", *secret).end_object().take();
}

}  // namespace

void McpAuthorization::add_to(JsonWriter& json) const {
  json.member("authorization_kind", kind).member_raw("authorization_settings", settings);
}

std::optional<std::string> McpAuthorization::sealed(const Call& call) const {
  if (secret.empty()) return std::nullopt;
  std::string org_id = call.input.is_org_scope() ? call.caller.org_id : std::string();
  return seal_secret(call.input.secret_box, std::move(org_id), "mcp_server", secret).json;
}

std::optional<McpAuthorization> read_mcp_authorization(Fields& fields) {
  Nullable<Fields> given = fields.nullable_object("authorization");
  if (!given.value) {
    if (given.is_given) fields.fault("authorization", "wrong_type", "must be an object");
    return std::nullopt;
  }
  Fields& object = *given.value;
  McpAuthorization read;
  read.settings = "{}";
  read.kind = object.required_choice("type", {"none", "bearer", "headers", "oauth"});
  if (read.kind == "bearer") {
    read_bearer(object, read);
  } else if (read.kind == "headers") {
    read_headers(object, read);
  } else if (read.kind == "oauth") {
    read_oauth(object, read);
  }
  return read;
}

}  // namespace hostler
