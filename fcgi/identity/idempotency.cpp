// See fcgi/identity/idempotency.h.
#include "fcgi/identity/idempotency.h"

#include <algorithm>
#include <utility>

#include "fcgi/http/route.h"
#include "fcgi/http/spooled_body.h"
#include "lib/config/stored_secret.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/utf8.h"
#include "queries/idempotency.h"

namespace hostler {
namespace {

constexpr size_t key_length_max = 255;
constexpr const char* secret_kind = "idempotency";

// Path and key, without room for one to look like a part of the other.
std::string call_hash(const Routed& routed, std::string_view key) {
  std::string text(routed.route.path);
  for (const auto& [name, value] : routed.path_values) {
    text += '\0';
    text += value;
  }
  text += '\0';
  text += sha256(key);
  return sha256(text);
}

// The query says what a call is as well as the body does.
std::string body_hash(const Request& request) {
  std::string text(request.uri.substr(std::min(request.uri.find('?'), request.uri.size())));
  text += '\0';
  text += request.spooled ? request.spooled->sha256() : request.body;
  return sha256(text);
}

std::string answer_json(const Response& response) {
  JsonWriter json;
  json.begin_object().member("status", response.status);
  if (!response.content_type.empty()) json.member("body", response.body());
  json.key("headers").begin_array();
  for (const auto& [name, value] : response.headers) {
    json.begin_array().text(name).text(value).end_array();
  }
  json.end_array().end_object();
  return json.take();
}

Response answer_from(const Json& kept) {
  const Json* body = kept.find("body");
  Response response;
  if (body != nullptr) response = Response::json_text(200, *body->as_text());
  response.status = static_cast<int>(kept.integer_or("status", 500));
  for (const Json& header : *kept.find("headers")->as_array()) {
    const Json::Array& pair = *header.as_array();
    response.add_header(*pair.at(0).as_text(), *pair.at(1).as_text());
  }
  response.add_header("Idempotency-Replayed", "true");
  return response;
}

}  // namespace

std::optional<std::string_view> idempotency_key(const Routed& routed) {
  if (!routed.route.sending.takes_idempotency_key) return std::nullopt;
  std::string_view key = routed.request.header("HTTP_IDEMPOTENCY_KEY");
  if (key.data() == nullptr) return std::nullopt;
  size_t length = character_count(key);
  if (length == 0) {
    throw Error::validation("Idempotency-Key", "too_short", "must not be empty");
  }
  if (length > key_length_max) {
    throw Error::validation("Idempotency-Key", "too_long", "may have at most 255 characters");
  }
  return key;
}

IdempotentCall idempotent_call(const Routed& routed, std::string_view key) {
  return {call_hash(routed, key), body_hash(routed.request)};
}

postgres::BoundStatement idempotency_begin(const IdempotentCall& call) {
  return query::IdempotencyBegin{.call_hash = call.call_hash, .body_hash = call.body_hash};
}

// A row that does not open is our own fault: doing the call again would double its effect.
std::optional<Response> stored_answer(const config::SecretBox& secret_box,
                                      const account::Caller& caller, const postgres::Row& begun) {
  if (begun.is_null("secret_id")) return std::nullopt;
  config::SecretIdentity identity{std::string(begun.text("secret_id")), caller.org_id, secret_kind};
  std::optional<std::string> plain = secret_box.open(identity, config::stored_secret(begun));
  std::optional<Json> stored = plain ? parse_json_or_nothing(*plain) : std::nullopt;
  if (!stored) throw Error(ErrorCode::internal_error, {}, "a stored answer does not open");
  return answer_from(*stored);
}

postgres::BoundStatement answer_storing(const config::SecretBox& secret_box,
                                        const config::Settings& settings,
                                        const account::Caller& caller, const IdempotentCall& call,
                                        std::string secret_id, const Response& response) {
  config::SecretIdentity identity{std::move(secret_id), caller.org_id, secret_kind};
  config::SealedSecret sealed = secret_box.seal(identity, answer_json(response));
  return query::IdempotencyKeep{.call_hash = call.call_hash,
                                .body_hash = call.body_hash,
                                .secret = config::secret_json(identity, sealed),
                                .limit_stored_bytes = settings.integer("limit.stored_bytes")};
}

}  // namespace hostler
