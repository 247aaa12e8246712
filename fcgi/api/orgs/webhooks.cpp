// Webhook endpoints and their deliveries. Statements: sql/queries/webhooks.sql. What is sent, and
// when, is the daemon's (runner/delivery).
#include <algorithm>

#include "fcgi/api/handlers.h"
#include "fcgi/http/address_check.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "fcgi/identity/sealed_secret.h"
#include "lib/http/client_url.h"
#include "lib/json.h"
#include "queries/outbox.h"
#include "queries/webhooks.h"

namespace hostler {
namespace {

constexpr size_t url_chars_max = 2048;
constexpr TextBounds url_bounds{.min = 1, .max = url_chars_max};
constexpr size_t events_max = 16;  // given; duplicates are merged
constexpr std::string_view event_names[] = {"run.completed", "run.failed", "run.cancelled",
                                            "run.waiting_for_input", "budget.threshold"};

// Without duplicates, in the order they were given.
std::vector<std::string> read_events(Fields& fields, std::vector<std::string> given) {
  std::vector<std::string> events;
  for (std::string& name : given) {
    if (std::find(std::begin(event_names), std::end(event_names), name) == std::end(event_names)) {
      fields.fault("events", "unknown",
                   "must be of run.completed, run.failed, run.cancelled, run.waiting_for_input, "
                   "budget.threshold");
    }
    if (std::find(events.begin(), events.end(), name) == events.end()) {
      events.push_back(std::move(name));
    }
  }
  const Json* written = fields.any("events");
  if (written != nullptr && written->is_array() && written->as_array()->empty()) {
    fields.fault("events", "too_short", "must name at least one event");
  }
  return events;
}

// The form alone; whether the address may be called is checked when nothing else is wrong.
std::optional<http::HttpUrl> read_url(Fields& fields, const std::string& written) {
  std::optional<http::HttpUrl> url = http::parse_http_url(written);
  bool is_sound = url && has_sound_form(written, *url);
  if (is_sound && url->scheme == "https" && !url->has_user_info) return url;
  fields.fault("url", "bad_format",
               "must be an https URL in ASCII (percent-encoded) without user info");
  return std::nullopt;
}

// A name that does not resolve is checked when it is dialled, as all are.
Task<void> check_address(const Call& call, http::HttpUrl url) {
  bool is_denied = co_await is_denied_to_tenants(call.loop, call.input.settings, std::move(url));
  if (is_denied)
    throw Error(ErrorCode::webhooks_url_denied,
                "url must lead to a public address, on a port that no other service has.");
}

SigningSecret make_secret(const Call& call) {
  return make_signing_secret(call.input.secret_box, call.caller.org_id, "webhook");
}

}  // namespace

Task<Response> create_webhook(Call& call) {
  Fields fields = call.input.body();
  std::string written = fields.required_text("url", url_bounds);
  std::optional<http::HttpUrl> url;
  if (!written.empty()) url = read_url(fields, written);
  std::vector<std::string> events;
  if (fields.has("events")) {
    events = read_events(fields, fields.required_texts("events", events_max, {.max = 100}));
  } else {
    fields.fault("events", "required", "is required");
  }
  fields.check();
  co_await check_address(call, *url);
  SigningSecret secret = make_secret(call);
  postgres::BoundStatement adding = query::WebhookCreate{
      .url = written,
      .events = events,
      .secret = secret.json,
      .limit_webhook_endpoints = call.input.settings.integer("limit.webhook_endpoints")};
  postgres::Result created = co_await call.database.query(std::move(adding));
  co_return Response::json_row_with(201, created, "signing_secret", secret.text);
}

OneStatement list_webhooks(const Input& input) {
  Page page = input.page();
  return OneStatement::items(input, query::WebhookPage{.limit = page.limit, .before = page.before},
                             {.limit = page.limit});
}

OneStatement show_webhook(const Input& input) {
  return OneStatement::row(query::WebhookShow{.endpoint_id = input.path_value("endpoint_id")});
}

Task<Response> update_webhook(Call& call) {
  Fields fields = call.input.body();
  std::optional<bool> enabled = fields.optional_boolean("enabled");
  std::optional<std::string> written = fields.optional_text("url", url_bounds);
  std::optional<std::vector<std::string>> given =
      fields.optional_texts("events", events_max, {.max = 100});
  std::optional<http::HttpUrl> url;
  JsonWriter changes;
  changes.begin_object();
  if (enabled) changes.member("enabled", *enabled);
  if (written) {
    url = read_url(fields, *written);
    changes.member("url", *written);
  }
  if (given) {
    changes.key("events").begin_array();
    for (const std::string& name : read_events(fields, *given)) changes.text(name);
    changes.end_array();
  }
  changes.end_object();
  fields.check_patch();
  if (url) co_await check_address(call, *url);
  postgres::BoundStatement changing = query::WebhookUpdate{
      .endpoint_id = call.input.path_value("endpoint_id"), .changes = changes.take()};
  postgres::Result changed = co_await call.database.query(std::move(changing));
  co_return Response::json_row(200, std::move(changed));
}

OneStatement delete_webhook(const Input& input) {
  return OneStatement::row(query::WebhookDelete{.endpoint_id = input.path_value("endpoint_id")});
}

Task<Response> rotate_webhook_secret(Call& call) {
  SigningSecret secret = make_secret(call);
  postgres::BoundStatement rotating = query::WebhookRotate{
      .endpoint_id = call.input.path_value("endpoint_id"), .secret = secret.json};
  co_await call.database.query(std::move(rotating));
  JsonWriter json;
  json.begin_object().member("signing_secret", secret.text).end_object();
  co_return Response::json_text(200, json.take());
}

OneStatement list_deliveries(const Input& input) {
  Page page = input.page();
  return OneStatement::items(
      input,
      query::WebhookDeliveryPage{.endpoint_id = input.path_value("endpoint_id"),
                                 .limit = page.limit,
                                 .before = page.before},
      {.limit = page.limit});
}

OneStatement redeliver_webhook(const Input& input) {
  return OneStatement::row(query::WebhookRedeliver{.endpoint_id = input.path_value("endpoint_id"),
                                                   .delivery_id = input.path_value("delivery_id")})
      .notify(query::OutboxNotify{});
}

OneStatement test_webhook(const Input& input) {
  return OneStatement::row(query::WebhookTest{.endpoint_id = input.path_value("endpoint_id")}, 201)
      .notify(query::OutboxNotify{});
}

}  // namespace hostler
