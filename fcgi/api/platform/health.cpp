// GET /healthz, GET /readyz: whether the pool lives, and whether it can serve.
#include <fmt/format.h>

#include "fcgi/api/handlers.h"
#include "lib/json.h"
#include "queries/health.h"
#include "schema_version.h"

namespace hostler {
namespace {

// libpq's words without where it connected to: the probe is open to everybody.
std::string_view without_address(std::string_view cause) {
  cause = cause.substr(0, cause.find('\n'));
  constexpr std::string_view failed = "failed: ";
  size_t at = cause.rfind(failed);
  if (at != std::string_view::npos) cause.remove_prefix(at + failed.size());
  return cause.empty() ? "not connected" : cause;
}

Error other_schema(const std::string& found) {
  return Error(ErrorCode::http_unavailable,
               fmt::format("schema version: expected {}, found {}", schema_version_expected,
                           found.empty() ? "none" : found));
}

}  // namespace

Task<Response> show_health(OpenCall&) { co_return Response::json_text(200, R"({"status":"ok"})"); }

OneStatement show_readiness(const Input&) {
  return {query::SchemaVersion{.version = schema_version_expected},
          [](const postgres::Result& found) {
            std::string version(found.front().text("version"));
            if (!found.front().boolean("fits")) throw other_schema(version);
            JsonWriter body;
            body.begin_object();
            body.member("status", "ok");
            body.member("schema_version", version);
            body.end_object();
            return Response::json_text(200, body.take());
          }};
}

Response render_unavailable(const Error& error) {
  std::string reason = fmt::format("database: {}", without_address(error.cause));
  if (error.code == ErrorCode::http_unavailable) reason = error.detail;
  // The statement itself failed: there is no schema of ours.
  if (error.code == ErrorCode::internal_error) reason = other_schema("").detail;
  JsonWriter body;
  body.begin_object();
  body.member("status", "unavailable");
  body.member("reason", reason);
  body.end_object();
  return Response::json_text(503, body.take());
}

}  // namespace hostler
