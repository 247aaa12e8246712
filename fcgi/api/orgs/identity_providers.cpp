// OpenID providers of the platform and of organizations. The issuer's metadata are read by a daemon
// (runner/sso_calls.h) when a provider is written. Statements: sql/queries/identity_providers.sql.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fcgi/api/accounts/sso_call.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/address_check.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "fcgi/identity/sealed_secret.h"
#include "lib/ascii.h"
#include "lib/http/client_url.h"
#include "lib/idna.h"
#include "lib/json.h"
#include "queries/identity_providers.h"
#include "queries/outbox.h"
#include "queries/sso.h"

namespace hostler {
namespace {

constexpr TextBounds key_bounds{.min = 1, .max = 32};
constexpr TextBounds name_bounds{.min = 1, .max = 100, .trims = true, .is_name = true};
constexpr TextBounds issuer_bounds{.min = 1, .max = 1024, .trims = true};
constexpr TextBounds client_bounds{.min = 1, .max = 1024, .trims = true};
constexpr TextBounds secret_bounds{.min = 1, .max = 4096, .trims = true};
constexpr TextBounds scope_bounds{.min = 1, .max = 256};
constexpr TextBounds domain_bounds{.min = 1, .max = 253, .trims = true};
constexpr TextBounds claim_bounds{.min = 1, .max = 256};
constexpr size_t scopes_max = 20;
constexpr size_t domains_max = 100;
constexpr size_t groups_max = 200;
constexpr size_t group_chars_max = 256;

// Members of a provider as a client writes them.
struct Written {
  JsonWriter changes;  // an open object of members
  std::optional<std::string> issuer;
  Nullable<std::string> secret;
};

bool is_key(std::string_view key) {
  return std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

// RFC 6749, section 3.3.
bool is_scope(std::string_view scope) {
  return std::all_of(scope.begin(), scope.end(),
                     [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\\'; });
}

// A plain https URL (OpenID Connect Discovery 1.0, section 3).
std::optional<std::string> read_issuer(Fields& fields) {
  std::optional<std::string> issuer = fields.optional_text("issuer", issuer_bounds);
  if (!issuer || issuer->empty()) return issuer;
  std::optional<http::HttpUrl> url = http::parse_http_url(*issuer);
  bool is_plain = url && url->scheme == "https" && !url->has_user_info && !url->has_query &&
                  !url->has_fragment && has_sound_form(*issuer, *url);
  if (!is_plain) {
    fields.fault("issuer", "bad_format",
                 "must be an https URL without query, fragment and user info");
  }
  return issuer;
}

void write_texts(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
  json.key(name).begin_array();
  for (const std::string& text : texts) json.text(text);
  json.end_array();
}

void read_scopes(Fields& fields, JsonWriter& changes, bool is_new) {
  std::optional<std::vector<std::string>> scopes =
      fields.optional_texts("scopes", scopes_max, scope_bounds);
  if (!scopes && is_new) scopes = std::vector<std::string>{"openid", "email", "profile"};
  if (!scopes) return;
  for (size_t i = 0; i < scopes->size(); ++i) {
    if (is_scope((*scopes)[i])) continue;
    fields.fault(fmt::format("scopes.{}", i), "bad_format", "must be one scope, without blanks");
  }
  if (std::find(scopes->begin(), scopes->end(), "openid") == scopes->end()) {
    fields.fault("scopes", "required", "must contain openid");
  }
  write_texts(changes, "scopes", *scopes);
}

void read_domains(Fields& fields, JsonWriter& changes) {
  std::optional<std::vector<std::string>> written =
      fields.optional_texts("domains", domains_max, domain_bounds);
  if (!written) return;
  std::vector<std::string> domains;
  for (size_t i = 0; i < written->size(); ++i) {
    std::optional<std::string> domain = ascii_domain((*written)[i]);
    if (!domain || domain->find('.') == std::string::npos) {
      fields.fault(fmt::format("domains.{}", i), "bad_format",
                   "must be a domain of mail addresses, such as example.com");
    } else {
      domains.push_back(*std::move(domain));
    }
  }
  write_texts(changes, "domains", domains);
}

void read_role_map(Fields& fields, JsonWriter& changes) {
  const Json* given = fields.any("role_map");
  if (given == nullptr) return;
  const Json::Object* groups = given->as_object();
  if (groups == nullptr || groups->size() > groups_max) {
    fields.fault("role_map", groups == nullptr ? "wrong_type" : "too_many",
                 fmt::format("must be an object of at most {} groups", groups_max));
    return;
  }
  changes.key("role_map").begin_object();
  for (const auto& [group, role] : *groups) {
    std::string_view name = role.is_text() ? std::string_view(*role.as_text()) : "";
    bool is_sound =
        (name == "admin" || name == "member") && !group.empty() && group.size() <= group_chars_max;
    if (is_sound) {
      changes.member(group, name);
    } else {
      fields.fault("role_map", "bad_value", "must give each group the role admin or member");
    }
  }
  changes.end_object();
}

// Marks that only platform administrators set.
void read_platform_marks(const Input& input, Fields& fields, JsonWriter& changes) {
  for (std::string_view name : {"trust_email", "has_second_factor"}) {
    std::optional<bool> mark = fields.optional_boolean(name);
    if (!mark) continue;
    if (input.is_org_scope()) {
      fields.fault(name, "forbidden", "is set by platform administrators only");
    }
    changes.member(name, *mark);
  }
}

void read_switches(const Input& input, Fields& fields, JsonWriter& changes) {
  for (std::string_view name : {"create_users", "is_required", "is_active"}) {
    std::optional<bool> value = fields.optional_boolean(name);
    if (!value) continue;
    if (name == "is_required" && *value && !input.is_org_scope()) {
      fields.fault(name, "bad_value", "is for providers of organizations");
    }
    changes.member(name, *value);
  }
}

Written read_provider(const Input& input, Fields& fields, bool is_new) {
  Written written;
  JsonWriter& changes = written.changes;
  changes.begin_object();
  if (is_new) {
    std::string key = fields.required_text("key", key_bounds);
    if (!is_key(key)) fields.fault("key", "bad_format", "must have only a-z, 0-9 and -");
    changes.member("key", key);
    for (std::string_view name : {"display_name", "issuer", "client_id"}) {
      if (!fields.has_value(name)) fields.fault(name, "required", "is required");
    }
  }
  auto add = [&](std::string_view name, TextBounds bounds) {
    if (is_new && !fields.has_value(name)) return;
    std::optional<std::string> text = fields.optional_text(name, bounds);
    if (text) changes.member(name, *text);
  };
  add("display_name", name_bounds);
  add("client_id", client_bounds);
  if (!is_new || fields.has_value("issuer")) written.issuer = read_issuer(fields);
  if (written.issuer) changes.member("issuer", *written.issuer);
  written.secret = fields.nullable_text("client_secret", secret_bounds);
  if (written.secret.is_given && !is_new) changes.member("client_secret_set", true);
  Nullable<std::string> claim = fields.nullable_text("groups_claim", claim_bounds);
  if (claim.is_given) changes.member_or_null("groups_claim", claim.value.value_or(""));
  read_scopes(fields, changes, is_new);
  read_domains(fields, changes);
  read_role_map(fields, changes);
  read_platform_marks(input, fields, changes);
  read_switches(input, fields, changes);
  return written;
}

std::optional<std::string> sealed_secret(const Call& call, const Nullable<std::string>& secret) {
  if (!secret.value) return std::nullopt;
  std::string org_id = call.input.is_org_scope() ? call.caller.org_id : std::string();
  return seal_secret(call.input.secret_box, std::move(org_id), "identity_provider", *secret.value)
      .json;
}

Error discovery_failed(std::string_view words) {
  return Error(ErrorCode::identity_discovery_failed,
               fmt::format("The issuer cannot be used: {}.", words));
}

// Asks a daemon for the issuer's metadata, in JSON. The client's secret will go to its
// token_endpoint, which must be no address of the operator's own network.
Task<std::string> discover(Call& call, std::string issuer) {
  std::optional<http::HttpUrl> url = http::parse_http_url(issuer);
  bool is_denied = co_await is_denied_to_tenants(call.loop, call.input.settings, *url);
  if (is_denied) throw discovery_failed("its address is not public");
  postgres::BoundStatement asking = query::SsoDiscoveryBegin{.issuer = std::move(issuer)};
  postgres::Result asked = co_await call.database.query_apart(std::move(asking));
  call.database.notify(query::SsoNotify{});
  std::string call_id(asked.front().text("call_id"));
  Json result = co_await sso_call_result(call, std::move(call_id));
  const Json* found = result.find("found");
  if (found == nullptr) throw discovery_failed(result.text_or("fault", "it did not answer"));
  url = http::parse_http_url(found->text_or("token_endpoint"));
  if (!url) throw discovery_failed("its token_endpoint is no URL");
  is_denied = co_await is_denied_to_tenants(call.loop, call.input.settings, *url);
  if (is_denied) throw discovery_failed("the address of its token_endpoint is not public");
  co_return found->dump();
}

}  // namespace

OneStatement list_identity_providers(const Input& input) {
  Page page = input.page();
  return OneStatement::items(
             input, query::IdentityProviderPage{.limit = page.limit, .before = page.before},
             {.limit = page.limit})
      .notify(query::OutboxNotify{});
}

Task<Response> create_identity_provider(Call& call) {
  Fields fields = call.input.body();
  Written written = read_provider(call.input, fields, true);
  fields.check();
  std::string found = co_await discover(call, *written.issuer);
  std::optional<std::string> secret = sealed_secret(call, written.secret);
  postgres::BoundStatement creation =
      query::IdentityProviderCreate{.wanted = written.changes.end_object().take(),
                                    .secret = std::move(secret),
                                    .discovered = std::move(found)};
  postgres::BoundStatement mails = query::OutboxNotify{};
  postgres::Result created =
      co_await call.database.query_and_notify(std::move(creation), std::move(mails));
  co_return Response::json_row(201, std::move(created));
}

Task<Response> update_identity_provider(Call& call) {
  Fields fields = call.input.body();
  Written written = read_provider(call.input, fields, false);
  fields.check_patch();
  std::string_view provider_id = call.input.path_value("provider_id");
  std::optional<std::string> found;
  if (written.issuer) {
    postgres::BoundStatement asking = query::IdentityProviderIssuer{.provider_id = provider_id};
    postgres::Result known = co_await call.database.query(std::move(asking));
    if (known.front().text("issuer") != *written.issuer) {
      std::string discovered = co_await discover(call, *written.issuer);
      found = std::move(discovered);
    }
  }
  std::optional<std::string> secret = sealed_secret(call, written.secret);
  postgres::BoundStatement change =
      query::IdentityProviderUpdate{.provider_id = provider_id,
                                    .changes = written.changes.end_object().take(),
                                    .secret = std::move(secret),
                                    .discovered = std::move(found)};
  postgres::BoundStatement mails = query::OutboxNotify{};
  postgres::Result changed =
      co_await call.database.query_and_notify(std::move(change), std::move(mails));
  co_return Response::json_row(200, std::move(changed));
}

OneStatement delete_identity_provider(const Input& input) {
  return OneStatement::no_content(
             query::IdentityProviderDelete{.provider_id = input.path_value("provider_id")})
      .notify(query::OutboxNotify{});
}

}  // namespace hostler
