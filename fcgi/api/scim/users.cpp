// SCIM users: memberships of the organization, as its identity service reads and writes them
// (docs/scim.md). Statements: sql/queries/scim.sql.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fcgi/api/accounts/sso_facts.h"
#include "fcgi/api/handlers.h"
#include "fcgi/api/orgs/registration_terms.h"
#include "fcgi/api/scim/exchange.h"
#include "fcgi/api/scim/user_document.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "fcgi/identity/session_answer.h"
#include "lib/account/account_rules.h"
#include "lib/ascii.h"
#include "lib/ids.h"
#include "lib/mail/mailed_secret.h"
#include "lib/mail_address.h"
#include "lib/utf8.h"
#include "queries/outbox.h"
#include "queries/scim.h"

namespace hostler {
namespace {

constexpr size_t user_name_chars_max = 256;
constexpr size_t attributes_bytes_max = 64 << 10;

std::string text_member(const Json::Object& document, std::string_view name) {
  for (const Json::Member& member : document) {
    if (member.first == name && member.second.is_text()) return *member.second.as_text();
  }
  return {};
}

const Json::Array* emails_of(const Json::Object& document) {
  for (const Json::Member& member : document) {
    if (member.first == "emails") return member.second.as_array();
  }
  return nullptr;
}

// How well an address stands for the person: the primary one, then the one of work, then others.
int rank_of(const Json& email) {
  const Json* primary = email.find("primary");
  bool is_primary =
      primary != nullptr && primary->as_boolean() != nullptr && *primary->as_boolean();
  if (is_primary) return 2;
  return ascii::equal_ignoring_case(email.text_or("type"), "work") ? 1 : 0;
}

bool is_address(std::string_view text, const config::Settings& settings) {
  return !text.empty() && !account::new_email_fault(text, settings.boolean("mail.smtputf8"));
}

// The address by which the person is found or invited; empty for none. A user name may be one.
std::string address_of(const Json::Object& document, const config::Settings& settings) {
  std::string best;
  int best_rank = -1;
  const Json::Array* emails = emails_of(document);
  if (emails != nullptr) {
    for (const Json& email : *emails) {
      std::string text = account::trimmed_email(email.text_or("value"));
      if (rank_of(email) <= best_rank || !is_address(text, settings)) continue;
      best = std::move(text);
      best_rank = rank_of(email);
    }
  }
  if (!best.empty()) return best;
  std::string user_name = account::trimmed_email(text_member(document, "userName"));
  return is_address(user_name, settings) ? user_name : std::string();
}

void write_email_keys(JsonWriter& json, const Json::Object& document, const std::string& address) {
  json.key("email_keys").begin_array();
  if (!address.empty()) json.text(mail_address_key(address));
  const Json::Array* emails = emails_of(document);
  if (emails != nullptr) {
    for (const Json& email : *emails) json.text(mail_address_key(email.text_or("value")));
  }
  json.end_array();
}

// The attributes without a column of their own, in JSON.
std::string attributes_of(const Json::Object& document) {
  JsonWriter json;
  json.begin_object();
  for (const auto& [name, value] : document) {
    if (name != "userName" && name != "externalId" && name != "displayName" && name != "active") {
      json.key(name).value(value);
    }
  }
  std::string text = json.end_object().take();
  if (text.size() > attributes_bytes_max) scim::refuse_value("The user", "is too large");
  return text;
}

struct Wanted {
  std::string json;   // `wanted` of sql/schema/scim_provisioning.sql
  std::string facts;  // of the account that would be made
  bool has_address = false;
};

Wanted wanted_of(const Json::Object& document, const config::Settings& settings) {
  std::string user_name = text_member(document, "userName");
  if (user_name.empty()) scim::refuse_value("userName", "is required");
  if (character_count(user_name) > user_name_chars_max)
    scim::refuse_value("userName", "is too long");
  std::string address = address_of(document, settings);
  JsonWriter json;
  json.begin_object().member("user_name", user_name);
  json.member_or_null("external_id", text_member(document, "externalId"));
  json.member_or_null("display_name", text_member(document, "displayName"));
  for (const auto& [name, value] : document) {
    if (name == "active") json.key(name).value(value);
  }
  if (!address.empty()) {
    json.member("email", address).member("email_key", mail_address_key(address));
  }
  write_email_keys(json, document, address);
  json.member_raw("attributes", attributes_of(document));
  JsonWriter claims;
  claims.begin_object().member("email", address);
  claims.member("name", text_member(document, "displayName"));
  claims.member("locale", text_member(document, "preferredLanguage")).end_object();
  std::optional<Json> read = parse_json_or_nothing(claims.take());
  return {json.end_object().take(), sso_facts(read.value_or(Json()), settings), !address.empty()};
}

// Terms of accounts, invitations and members, by the names of settings.
std::string terms_of(const config::Settings& settings) {
  std::string text = account_settings(settings);
  text.pop_back();  // the object's end
  JsonWriter json;
  json.begin_object();
  for (auto [name, value] :
       {std::pair{"limit.members", settings.integer("limit.members")},
        std::pair{"invite.member_seconds", settings.integer("invite.member_seconds")},
        std::pair{"limit.invitations_per_inviter_day",
                  settings.integer("limit.invitations_per_inviter_day")},
        std::pair{"limit.invitations_per_recipient_day",
                  settings.integer("limit.invitations_per_recipient_day")}}) {
    json.member(name, value);
  }
  json.member("registration", registration_of(settings));
  return text + ',' + json.end_object().take().substr(1);
}

postgres::BoundStatement putting(const Input& input, const Json::Object& document) {
  Wanted wanted = wanted_of(document, input.settings);
  return query::ScimUserPut{
      .scim_id = input.path_value("resource_id"),
      .wanted = wanted.json,
      .facts = wanted.facts,
      .mail = mail::new_mailed_token(input.secret_box, mail::invitation_token_prefix),
      .settings = terms_of(input.settings),
      .site = scim::site_of(input.settings)};
}

// The conditions that SQL asks; nothing when they exclude each other.
class Conditions {
 public:
  void add(std::string_view name, std::string value) {
    for (const auto& [known, old] : values_) {
      if (known == name && old != value) is_void_ = true;
    }
    values_.emplace_back(name, std::move(value));
  }
  void exclude() { is_void_ = true; }
  bool is_void() const { return is_void_; }
  std::string json() const {
    JsonWriter json;
    json.begin_object();
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i].first == "active") {
        json.member("active", values_[i].second == "true");
      } else {
        json.member(values_[i].first, values_[i].second);
      }
    }
    return json.end_object().take();
  }

 private:
  std::vector<std::pair<std::string_view, std::string>> values_;
  bool is_void_ = false;
};

[[noreturn]] void refuse_filter(std::string_view attribute) {
  throw Error(ErrorCode::scim_invalid_filter,
              fmt::format("{} cannot be filtered by. Supported are userName, externalId, "
                          "emails.value, active, displayName and id.",
                          attribute));
}

void add_condition(const scim::Comparison& one, Conditions& conditions) {
  auto is = [&](std::string_view name) { return ascii::equal_ignoring_case(one.attribute, name); };
  if (is("userName")) {
    conditions.add("user_name", one.value);
    conditions.add("user_name_email_key", mail_address_key(one.value));
  } else if (is("externalId")) {
    conditions.add("external_id", one.value);
  } else if (is("emails") || is("emails.value")) {
    conditions.add("email_key", mail_address_key(one.value));
  } else if (is("displayName")) {
    conditions.add("display_name", one.value);
  } else if (is("active")) {
    conditions.add("active", ascii::lower_case(one.value));
    if (!ascii::equal_ignoring_case(one.value, "true") &&
        !ascii::equal_ignoring_case(one.value, "false")) {
      conditions.exclude();
    }
  } else if (is("id")) {
    conditions.add("id", one.value);
    if (!is_uuid(one.value)) conditions.exclude();
  } else if (!is("emails.type") && !is("emails.primary")) {
    refuse_filter(one.attribute);
  }
}

}  // namespace

OneStatement list_scim_users(const Input& input) {
  scim::ListPage page = scim::list_page(input);
  Conditions conditions;
  for (const scim::Comparison& one : page.filter) add_condition(one, conditions);
  return {query::ScimUserPage{.conditions = conditions.is_void() ? "{}" : conditions.json(),
                              .start_index = page.start_index,
                              .limit = page.count,
                              .is_void = conditions.is_void(),
                              .site = scim::site_of(input.settings)},
          [](const postgres::Result& found) { return scim::resource_response(200, found); }};
}

OneStatement show_scim_user(const Input& input) {
  return {query::ScimUserShow{.scim_id = input.path_value("resource_id"),
                              .site = scim::site_of(input.settings)},
          [](const postgres::Result& found) { return scim::resource_response(200, found); }};
}

OneStatement create_scim_user(const Input& input) {
  Wanted wanted = wanted_of(scim::read_user(scim::body_of(input)), input.settings);
  if (!wanted.has_address) {
    scim::refuse_value("emails", "or userName must have the mail address of the person");
  }
  return OneStatement(
             query::ScimUserCreate{
                 .wanted = wanted.json,
                 .facts = wanted.facts,
                 .mail = mail::new_mailed_token(input.secret_box, mail::invitation_token_prefix),
                 .settings = terms_of(input.settings),
                 .site = scim::site_of(input.settings)},
             [](const postgres::Result& made) { return scim::resource_response(201, made); })
      .notify(query::OutboxNotify{});
}

OneStatement replace_scim_user(const Input& input) {
  Json::Object document = scim::read_user(scim::body_of(input));
  return OneStatement(putting(input, document),
                      [](const postgres::Result& put) { return scim::resource_response(200, put); })
      .notify(query::OutboxNotify{});
}

// One transaction holds the user, reads them, and writes what the operations make of them.
Task<Response> update_scim_user(Call& call) {
  Json body = scim::body_of(call.input);
  scim::operations_of(body);
  const Input& input = call.input;
  int nth = 0;
  std::string item;
  auto next = [&input, &body, &nth, &item](const postgres::Results& before) {
    postgres::Batch batch;
    ++nth;
    if (nth == 1) {
      batch.add(query::ScimUserOpen{.scim_id = input.path_value("resource_id")});
    } else if (nth == 2) {
      std::optional<Json> read = parse_json_or_nothing(before.front().text());
      Json::Object document = read && read->is_object() ? *read->as_object() : Json::Object{};
      scim::patch_user(document, body);
      batch.add(putting(input, document));
    } else {
      item = before.front().front().text("item");
    }
    return batch;
  };
  CallerDatabase::NextBatch batches = next;
  co_await call.database.batches(std::move(batches));
  call.database.notify(query::OutboxNotify{});
  co_return scim::response_of(200, std::move(item));
}

OneStatement delete_scim_user(const Input& input) {
  return OneStatement::no_content(
      query::ScimUserDelete{.scim_id = input.path_value("resource_id")});
}

}  // namespace hostler
