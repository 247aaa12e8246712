// The platform at a glance, for platform administrators: its numbers, its programs and how its
// database is. Statements: sql/queries/admin_overview.sql.
#include "queries/admin_overview.h"

#include <optional>

#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "lib/health/database_health.h"
#include "lib/json.h"
#include "lib/time_text.h"

namespace hostler {
namespace {

// The row of the database: it is there, or nobody would answer.
void write_database(JsonWriter& json, const config::Settings& settings,
                    const postgres::Row& facts) {
  health::Report report;
  health::look_at_postgres(settings, facts, report);
  health::look_at_work(facts, report);
  json.begin_object().member("kind", "database").member("id", facts.text("id"));
  json.member("host", facts.text("name")).member("version", facts.text("server_version"));
  json.member("started_at", facts.text("started_at"));
  json.member("heartbeat_at", rfc3339(facts.integer("now_ms")));
  json.member("runs", 0).member("streams", 0);
  json.member("connections", facts.integer("connections")).key("maintenance").null();
  json.key("findings").begin_array();
  for (const health::Finding& finding : report.findings()) {
    json.begin_object().member("verdict", health::verdict_name(finding.verdict));
    json.member("what", finding.what).member("message", finding.message).end_object();
  }
  json.end_array().end_object();
}

}  // namespace

OneStatement show_dashboard(const Input&) { return OneStatement::row(query::DashboardShow{}); }

OneStatement list_nodes(const Input& input) {
  return {query::NodeList{}, [&input](const postgres::Result& result) {
            const postgres::Row& row = result.front();
            std::optional<Json> nodes = parse_json_or_nothing(row.text("nodes"));
            JsonWriter json;
            json.begin_array();
            for (const Json& node : *nodes->as_array()) json.value(node);
            write_database(json, input.configured, row);
            json.end_array();
            return Response::json_text(200, json.take());
          }};
}

}  // namespace hostler
