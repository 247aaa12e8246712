// Webhook endpoints and their deliveries. Statements: sql/queries/webhooks.sql. What is sent, and
// when, is the daemon's (runner/delivery).
#include <algorithm>

#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/one_statement.h"
#include "fcgi/services.h"
#include "lib/address_guard.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/loop/http_client_url.h"
#include "lib/loop/name_lookup.h"
#include "queries/llm_catalog.h"
#include "queries/outbox.h"
#include "queries/webhooks.h"

namespace hostler {
namespace {

constexpr size_t url_chars_max = 2048;
constexpr TextBounds url_bounds{.least = 1, .most = url_chars_max};
constexpr size_t events_max = 16;  // given; doubles are merged
constexpr int64_t lookup_limit_ms = 2000;
constexpr std::string_view event_names[] = {"run.completed", "run.failed", "run.cancelled",
                                            "run.waiting_for_input"};

// Without doubles, in the order they were given.
std::vector<std::string> read_events(Fields& fields, std::vector<std::string> given) {
  std::vector<std::string> events;
  for (std::string& name : given) {
    if (std::find(std::begin(event_names), std::end(event_names), name) == std::end(event_names)) {
      fields.fault("events", "unknown",
                   "must be of run.completed, run.failed, run.cancelled, run.waiting_for_input");
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

// The form alone; whether the address may be called is judged when nothing else is wrong.
std::optional<HttpUrl> read_url(Fields& fields, const std::string& written) {
  std::optional<HttpUrl> url = parse_http_url(written);
  if (url && url->scheme == "https" && !url->has_user_info) return url;
  fields.fault("url", "bad_format", "must be an https URL without user info");
  return std::nullopt;
}

// A literal, or a name all of whose addresses are refused; one that does not resolve is judged
// when it is dialled, as all are.
Task<void> judge_address(Services& services, Request& request, HttpUrl url) {
  std::vector<IpAddress> addresses;
  std::optional<IpAddress> literal = IpAddress::parse(url.host);
  if (literal) {
    addresses.push_back(*literal);
  } else {
    // Nobody makes us ask for names who may not set them.
    if (!request.caller.is_known) co_await services.authenticate(request, true);
    addresses = co_await look_up_name(services.loop(), url.host, lookup_limit_ms);
  }
  CidrList allowed =
      CidrList::parse(services.settings().strings("outbound.allow_cidrs")).value_or(CidrList());
  bool is_denied = std::all_of(addresses.begin(), addresses.end(), [&](const IpAddress& address) {
    if (allowed.contains(address)) return false;
    return refused_address(address, allowed).has_value() || is_service_port(url.port);
  });
  if (is_denied && !addresses.empty()) {
    throw Error(ErrorCode::webhooks_url_denied, "url must lead to a public address.");
  }
}

struct SigningSecret {
  std::string text;  // whsec_ and base64 of 32 bytes, as Standard Webhooks has it
  std::string json;  // sealed, for the statement
};

Task<SigningSecret> make_secret(Services& services, Request& request) {
  Result made = co_await services.query(request, query::secret_id_new);
  SecretPlace place{std::string(made.text()), request.caller.org_id, "webhook"};
  SigningSecret secret;
  secret.text = "whsec_" + to_base64(random_bytes(32));
  secret.json = secret_json(place, services.secret_box().seal(place, secret.text));
  co_return secret;
}

}  // namespace

Task<Response> create_webhook(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::string written = fields.required_text("url", url_bounds);
  std::optional<HttpUrl> url;
  if (!written.empty()) url = read_url(fields, written);
  std::vector<std::string> events;
  if (fields.has("events")) {
    events = read_events(fields, fields.required_texts("events", events_max, {.most = 100}));
  } else {
    fields.fault("events", "required", "is required");
  }
  fields.check();
  co_await judge_address(services, request, *url);
  SigningSecret secret = co_await make_secret(services, request);
  Params params;
  params.text(written).texts(events).text(secret.json);
  Result made = co_await services.query(request, query::webhook_create, std::move(params));
  std::string body(made.text());
  body.pop_back();
  co_return Response::json_text(201, body + ",\"signing_secret\":" + json_quote(secret.text) + "}");
}

Task<Response> list_webhooks(Services& services, Request& request) {
  return list_page(services, request, query::webhook_page);
}

Task<Response> show_webhook(Services& services, Request& request) {
  return one_row(services, request, query::webhook_show,
                 Params().text(request.path_value("endpoint_id")));
}

Task<Response> update_webhook(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::optional<bool> enabled = fields.optional_boolean("enabled");
  std::optional<std::string> written = fields.optional_text("url", url_bounds);
  std::optional<std::vector<std::string>> given =
      fields.optional_texts("events", events_max, {.most = 100});
  std::optional<HttpUrl> url;
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
  if (url) co_await judge_address(services, request, *url);
  Params params;
  params.text(request.path_value("endpoint_id")).text(changes.take());
  Result changed = co_await services.query(request, query::webhook_update, std::move(params));
  co_return Response::json_row(200, std::move(changed));
}

Task<Response> delete_webhook(Services& services, Request& request) {
  return one_row(services, request, query::webhook_delete,
                 Params().text(request.path_value("endpoint_id")));
}

Task<Response> rotate_webhook_secret(Services& services, Request& request) {
  SigningSecret secret = co_await make_secret(services, request);
  Params params;
  params.text(request.path_value("endpoint_id")).text(secret.json);
  co_await services.query(request, query::webhook_rotate, std::move(params));
  JsonWriter json;
  json.begin_object().member("signing_secret", secret.text).end_object();
  co_return Response::json_text(200, json.take());
}

Task<Response> list_deliveries(Services& services, Request& request) {
  return list_page(services, request, query::webhook_delivery_page,
                   Params().text(request.path_value("endpoint_id")));
}

Task<Response> redeliver_webhook(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("endpoint_id")).text(request.path_value("delivery_id"));
  Result due = co_await services.query_then_ring(request, query::webhook_redeliver,
                                                 std::move(params), query::outbox_bell);
  co_return Response::json_row(200, std::move(due));
}

Task<Response> test_webhook(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("endpoint_id"));
  Result made = co_await services.query_then_ring(request, query::webhook_test, std::move(params),
                                                  query::outbox_bell);
  co_return Response::json_row(201, std::move(made));
}

}  // namespace hostler
