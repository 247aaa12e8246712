// The pool's table of metrics; see fcgi/http/api_metrics.h.
#include "fcgi/http/api_metrics.h"

#include <algorithm>
#include <cassert>
#include <functional>

#include <fmt/format.h>

#include "fcgi/http/route.h"
#include "schema_version.h"

namespace hostler {
namespace {

constexpr int status_classes = 5;
constexpr int64_t key_versions = 12;  // that have a series of their own

std::string route_label(const Route* route) {
  if (route == nullptr) return "route=\"none\"";
  return fmt::format("route=\"{} {}\"", method_name(route->method), route->path);
}

std::vector<std::string> by_route() {
  std::vector<std::string> series;
  for (const Route& route : all_routes()) series.push_back(route_label(&route));
  series.push_back(route_label(nullptr));
  return series;
}

std::vector<std::string> by_route_and_status() {
  std::vector<std::string> series;
  for (const std::string& route : by_route()) {
    for (int status = 1; status <= status_classes; ++status) {
      series.push_back(fmt::format("{},status=\"{}xx\"", route, status));
    }
  }
  return series;
}

std::vector<std::string> by_key() {
  std::vector<std::string> series;
  for (int64_t version = 1; version <= key_versions; ++version) {
    series.push_back(fmt::format("key_version=\"{}\"", version));
  }
  series.emplace_back("key_version=\"later\"");
  return series;
}

}  // namespace

std::vector<MetricRow> api_metric_rows() {
  using enum MetricType;
  std::vector<MetricRow> rows{
      {counter, "hostler_api_requests_total", "Requests answered.", by_route_and_status()},
      {histogram, "hostler_api_request_seconds", "Time from a request's arrival to its answer.",
       by_route()},
      {gauge, "hostler_api_requests_in_flight", "Requests that are being answered.", {""}},
      {counter,
       "hostler_api_database_batches_total",
       "Batches sent to Postgres.",
       {"connection=\"pipelined\"", "connection=\"dedicated\""}},
      {counter,
       "hostler_api_database_sessions_total",
       "Connections to Postgres that were opened.",
       {""}},
      {gauge, "hostler_api_passwords_waiting", "Password hashes that wait for their turn.", {""}},
      {counter,
       "hostler_api_background_dropped_total",
       "Background writes that were dropped, because too many waited, or too long.",
       {"what=\"denial\"", "what=\"notification\"", "what=\"last_used\"", "what=\"rate_limit\""},
       true},
      {counter,
       "hostler_api_peers_refused_total",
       "Connections to api.listen_tcp from addresses that are not among api.tcp_peers.",
       {""}},
      {counter, "hostler_api_key_wraps_total",
       "Secrets and stored answers that a key of secrets.key_file wrapped.", by_key()},
      {gauge,
       "hostler_api_loop_lag_seconds",
       "How late the loops were at their last heartbeat.",
       {""}},
      {gauge, "hostler_api_workers", "Worker processes that serve requests.", {""}},
      {gauge, "hostler_api_requests_max", "Requests that all workers may answer at once.", {""}},
      {gauge, "hostler_api_database_connections", "Dedicated connections in use.", {""}},
      {gauge, "hostler_api_database_connections_max", "Maximum of dedicated connections.", {""}},
      {gauge,
       "hostler_api_database_waiting",
       "Requests that wait for a dedicated connection.",
       {""}},
      {gauge,
       "hostler_api_info",
       "1 for each worker, with the version of program and schema.",
       {fmt::format("version=\"{}\",schema_version=\"{}\"", HOSTLER_VERSION,
                    schema_version_expected)}},
  };
  assert(rows.size() == metric_count);
  return rows;
}

size_t route_series(const Route* route) {
  std::span<const Route> routes = all_routes();
  if (route == nullptr) return routes.size();
  std::less<const Route*> is_before;
  bool is_row = !is_before(route, routes.data()) && is_before(route, routes.data() + routes.size());
  if (is_row) return static_cast<size_t>(route - routes.data());
  // The row for a result_token stands beside the table: it counts for the one that names it.
  auto naming = std::find_if(routes.begin(), routes.end(),
                             [route](const Route& row) { return row.by_result_token == route; });
  return static_cast<size_t>(naming - routes.begin());
}

size_t key_series(int64_t key_version) {
  return static_cast<size_t>(std::clamp<int64_t>(key_version, 1, key_versions + 1) - 1);
}

size_t request_series(const Route* route, int status) {
  int status_class = std::clamp(status / 100, 1, status_classes);
  return route_series(route) * status_classes + static_cast<size_t>(status_class - 1);
}

}  // namespace hostler
