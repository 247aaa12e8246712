// A message goes to its endpoint, once. See runner/delivery/delivery.h.
#include <fmt/format.h>

#include "lib/client/trace.h"
#include "lib/config/stored_secret.h"
#include "lib/json.h"
#include "lib/webhook_signature.h"
#include "runner/delivery/delivery.h"

namespace hostler::runner {
namespace {

// Nobody reads what receivers say; so much is taken so that the connection can be used again.
constexpr size_t answer_bytes_max = 16 * 1024;

// A secret that cannot be opened signs nothing.
void add_secret(QueuedWebhook& message, const config::SecretBox& secrets, std::string_view id,
                const config::SealedSecret& sealed) {
  config::SecretIdentity identity{std::string(id), message.org_id, "webhook"};
  std::optional<std::string> secret = secrets.open(identity, sealed);
  if (secret) message.signing_secrets.push_back(std::move(*secret));
}

// Secrets from before a rotation, newest first, as outbox_claim_webhooks writes them.
void add_old_secrets(QueuedWebhook& message, const config::SecretBox& secrets,
                     std::string_view json) {
  std::optional<Json> old = parse_json_or_nothing(json);
  if (!old) return;
  for (const Json& one : *old->as_array()) {
    add_secret(message, secrets, one.text_or("id"), config::stored_secret(one));
  }
}

constexpr std::string_view untrusted_words =
    "TLS failed: the certificate is not trusted; outbound.ca_file of this installation must name "
    "its issuer";

// Text for the owner of the endpoint. The failure's own words contain addresses.
std::string_view words_of(const http::HttpFailure& failure) {
  switch (failure.kind) {
    case http::HttpFailureKind::bad_request:
      return "the URL cannot be called";
    case http::HttpFailureKind::denied_address:
      return "the name leads to an address that may not be called";
    case http::HttpFailureKind::connect:
      return "there was no connection: unknown name, refused or unreachable";
    case http::HttpFailureKind::tls:
      if (failure.is_untrusted) return untrusted_words;
      return "TLS failed: the certificate is not valid for the name, or has expired";
    case http::HttpFailureKind::timeout_connect:
    case http::HttpFailureKind::timeout_first_byte:
    case http::HttpFailureKind::timeout_idle:
    case http::HttpFailureKind::timeout_total:
      return "there was no answer in time";
    case http::HttpFailureKind::reset:
      return "the connection broke before the answer";
    case http::HttpFailureKind::protocol:
      return "the answer is not HTTP";
    case http::HttpFailureKind::too_large:
      return "the answer's header fields are too large";
    case http::HttpFailureKind::too_many_redirects:
      return "redirects are not followed";
  }
  return "";
}

http::HttpRequest request_of(const QueuedWebhook& message, int64_t timeout_ms) {
  http::HttpRequest request;
  request.method = "POST";
  request.url = message.url;
  request.https_only = true;
  request.body = message.body;
  request.connect_timeout_ms = timeout_ms;
  request.first_byte_timeout_ms = timeout_ms;
  request.idle_timeout_ms = timeout_ms;
  request.total_timeout_ms = timeout_ms;
  request.response_bytes_max = answer_bytes_max;
  request.over_limit = http::OverLimit::cut;
  request.headers = {
      {"Content-Type", "application/json"},
      {"webhook-id", message.id},
      {"webhook-timestamp", std::to_string(message.timestamp_s)},
      {"webhook-signature",
       webhook_signature(message.id, message.timestamp_s, message.body, message.signing_secrets)}};
  if (message.trace_id.size() == 32) {
    request.headers.emplace_back("traceparent", client::traceparent_of(message.trace_id));
  }
  return request;
}

Attempt attempt_of(const http::HttpAnswer& answer) {
  Attempt attempt;
  int status = answer.head.status;
  if (status != 0 && (status >= 200 || !answer.failure)) attempt.status_code = status;
  // Once a receiver has said 2xx the message is theirs, however its body ends.
  attempt.is_delivered = status >= 200 && status <= 299 && !answer.head.final_url.empty();
  if (attempt.is_delivered) return attempt;
  if (answer.failure && answer.head.final_url.empty()) {
    attempt.status_code.reset();
    attempt.error = words_of(*answer.failure);
    return attempt;
  }
  attempt.is_gone = status == 410;
  attempt.retry_after_ms = answer.head.retry_after_ms();
  attempt.error = fmt::format("answered {}", status);
  if (status >= 300 && status <= 399) attempt.error += "; redirects are not followed";
  return attempt;
}

}  // namespace

QueuedWebhook read_queued_webhook(const postgres::Row& row, const config::SecretBox& secrets) {
  QueuedWebhook message;
  message.id = row.text("id");
  message.org_id = row.text("org_id");
  message.endpoint_id = row.text("endpoint_id");
  message.epoch = row.integer("epoch");
  message.url = row.text("url");
  message.body = row.text("body");
  message.trace_id = row.text("trace_id");
  message.timestamp_s = row.integer("now_seconds");
  if (!row.is_null("secret_id")) {
    add_secret(message, secrets, row.text("secret_id"), config::stored_secret(row));
  }
  if (!row.is_null("old_secrets")) add_old_secrets(message, secrets, row.text("old_secrets"));
  return message;
}

Task<Attempt> attempt_webhook(http::HttpClient& http, int64_t timeout_ms, QueuedWebhook message) {
  if (message.signing_secrets.empty()) {
    Attempt unsigned_one;
    unsigned_one.error = "the signing secret cannot be opened";
    co_return unsigned_one;
  }
  http::HttpRequest request = request_of(message, timeout_ms);
  http::HttpAnswer answer = co_await http.fetch(std::move(request));
  co_return attempt_of(answer);
}

}  // namespace hostler::runner
