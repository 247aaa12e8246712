// The transaction around a call, and its answer as a sealed row; see fcgi/once.h.
#include "fcgi/once.h"

#include <algorithm>
#include <utility>

#include "fcgi/route.h"
#include "fcgi/services.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "queries/idempotency.h"

namespace hostler {
namespace {

constexpr size_t key_length_max = 255;
constexpr const char* secret_kind = "idempotency";

size_t character_count(std::string_view text) {
  auto begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

// Path and key, without room for one to look like a part of the other.
std::string call_hash(const Request& request, std::string_view key) {
  std::string text(request.route->path);
  for (size_t i = 0; i < request.path_value_count; ++i) {
    text += '\0';
    text += request.path_values[i].second;
  }
  text += '\0';
  text += sha256(key);
  return sha256(text);
}

// The query says what a call is as well as the body does.
std::string body_hash(const Request& request) {
  std::string text(request.uri.substr(std::min(request.uri.find('?'), request.uri.size())));
  text += '\0';
  text += request.body;
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

// A row that does not open is our own fault: doing the call again would double its effect.
Response open_answer(const SecretBox& secret_box, const Request& request, Row row) {
  SecretPlace place{std::string(row.text("secret_id")), request.caller.org_id, secret_kind};
  SealedSecret sealed{row.integer("key_version"), row.bytes("wrapped_key"), row.bytes("sealed")};
  std::optional<std::string> plain = secret_box.open(place, sealed);
  std::optional<Json> kept = plain ? parse_json_or_nothing(*plain) : std::nullopt;
  if (!kept) throw Error(ErrorCode::internal_error, {}, "a kept answer does not open");
  return answer_from(*kept);
}

Params keep_params(const Services& services, const Request& request, const Response& response) {
  const Once& once = *request.once;
  SecretPlace place{once.secret_id, request.caller.org_id, secret_kind};
  SealedSecret sealed = services.secret_box().seal(place, answer_json(response));
  Params params;
  params.bytes(once.call_hash).bytes(once.body_hash).text(secret_json(place, sealed));
  return params;
}

}  // namespace

std::optional<std::string_view> once_key(const Request& request) {
  if (request.route->lane != Lane::once) return std::nullopt;
  std::string_view key = request.header("HTTP_IDEMPOTENCY_KEY");
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

Task<std::optional<Response>> begin_once(Services& services, Request& request,
                                         std::string_view key) {
  std::string call = call_hash(request, key);
  std::string body = body_hash(request);
  Params params;
  params.bytes(call).bytes(body);
  Result begun = co_await services.open_once(request, call, std::move(params));
  Row row = begun.front();
  if (!row.is_null("secret_id")) {
    request.once.reset();
    co_return open_answer(services.secret_box(), request, row);
  }
  request.once->body_hash = std::move(body);
  request.once->secret_id = row.text("new_secret_id");
  co_return std::nullopt;
}

Task<void> finish_once(Services& services, Request& request, const Response& response) {
  bool is_kept = response.status >= 200 && response.status < 300;
  if (is_kept) {
    Params params = keep_params(services, request, response);
    co_await services.query(request, query::idempotency_keep, std::move(params));
  }
  std::shared_ptr<Once> once = std::move(request.once);
  co_await once->transaction.commit();
  services.ring_all(std::move(once->bells));
}

}  // namespace hostler
