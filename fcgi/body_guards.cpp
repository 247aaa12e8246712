// See fcgi/body_guards.h.
#include "fcgi/body_guards.h"

#include <array>
#include <string>
#include <string_view>
#include <variant>

#include "lib/ids.h"
#include "lib/json_bounds.h"
#include "queries/runs.h"

namespace hostler {
namespace {

constexpr std::string_view no_id = "00000000-0000-0000-0000-000000000000";

// Returns nothing for a body that is not a JSON object: its 400 or 415 follows.
std::optional<Json> object_of(std::string_view body) {
  if (body.empty()) return Json(Json::Object());
  std::variant<Json, JsonFault> parsed = parse_bounded_json(body, json_values_of_body_max);
  Json* json = std::get_if<Json>(&parsed);
  if (json == nullptr || !json->is_object()) return std::nullopt;
  return std::move(*json);
}

bool follows(const Json& body) {
  const Json* stream = body.find("stream");
  return stream != nullptr && stream->as_boolean() != nullptr && *stream->as_boolean();
}

// Calls that begin a run: content or a new thread needs data.threads.write, a stream
// data.runs.read.
postgres::BoundStatement guard_run(const Json& body, std::optional<std::string> thread_id,
                                   bool makes_thread) {
  return query::RunBeginGuard{.thread_id = thread_id,
                              .writes = makes_thread || body.find("content") != nullptr,
                              .stream = follows(body)};
}

// It ignores thread_id and thread: the path names the thread.
postgres::BoundStatement guard_new_run(const Json& body) {
  return guard_run(body, std::nullopt, false);
}

postgres::BoundStatement guard_begun_run(const Json& body) {
  const Json* named = body.find("thread_id");
  if (named == nullptr || named->is_null()) return guard_run(body, std::nullopt, true);
  // A value that is not a UUID names no thread.
  bool is_id = named->is_text() && is_uuid(*named->as_text());
  return guard_run(body, is_id ? *named->as_text() : std::string(no_id), false);
}

struct BodyGuard {
  std::string_view path;  // of a POST
  postgres::BoundStatement (*guard)(const Json& body);
};
constexpr std::array<BodyGuard, 2> body_guards{
    {{"/v1/threads/{thread_id}/runs", guard_new_run}, {"/v1/runs", guard_begun_run}}};

}  // namespace

std::optional<postgres::BoundStatement> body_guard(const Routed& routed) {
  if (routed.route.method != Method::post) return std::nullopt;
  for (const BodyGuard& known : body_guards) {
    if (known.path != routed.route.path) continue;
    std::optional<Json> body = object_of(routed.request.body);
    if (body) return known.guard(*body);
  }
  return std::nullopt;
}

}  // namespace hostler
