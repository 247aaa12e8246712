// The metrics of the pool, one row each: what exists, and the indexes by which the code counts.
// Counted where the work is done; served by the master.
#pragma once

#include <cstddef>
#include <vector>

#include "fcgi/http/route.h"
#include "lib/metrics.h"

namespace hostler {

// In the order of api_metric_rows().
enum ApiMetric : size_t {
  metric_requests,            // by route and class of status
  metric_request_seconds,     // by route
  metric_in_flight,           // a gauge
  metric_batches,             // by lane
  metric_database_sessions,   // connections that came up
  metric_password_waiting,    // a gauge
  metric_background_dropped,  // by what
  metric_peers_refused,       // connections to the port
  metric_key_wraps,           // by the key's version
  metric_loop_lag_us,         // a gauge: how late the last heartbeat was
  metric_workers,             // the rest are gauges too
  metric_in_flight_max,
  metric_dedicated_connections,
  metric_dedicated_connections_max,
  metric_dedicated_waiting,
  metric_build,
  metric_count
};

std::vector<MetricRow> api_metric_rows();

// The series of an answer. A request that found no route (null) counts for the last one.
size_t request_series(const Route* route, int status);
size_t route_series(const Route* route);
size_t key_series(int64_t key_version);

}  // namespace hostler
