// Cross-origin header fields; see lib/http/cors.h.
#include "lib/http/cors.h"

#include <algorithm>

namespace hostler::http {

bool is_allowed_origin(std::span<const std::string> allowed_origins, std::string_view origin) {
  return !origin.empty() && origin != "null" &&
         std::find(allowed_origins.begin(), allowed_origins.end(), origin) != allowed_origins.end();
}

void add_cors_headers(std::span<const std::string> allowed_origins, std::string_view origin,
                      HeaderList& headers) {
  if (allowed_origins.empty()) return;
  headers.emplace_back("Vary", "Origin");
  if (!is_allowed_origin(allowed_origins, origin)) return;
  headers.emplace_back("Access-Control-Allow-Origin", origin);
  headers.emplace_back("Access-Control-Allow-Credentials", "true");
  headers.emplace_back("Access-Control-Expose-Headers",
                       "X-Trace-Id, Link, RateLimit, RateLimit-Policy, Retry-After, "
                       "Idempotency-Replayed");
}

void add_preflight_headers(std::span<const std::string> allowed_origins, std::string_view origin,
                           std::string_view allow, HeaderList& headers) {
  if (!is_allowed_origin(allowed_origins, origin)) return;
  headers.emplace_back("Access-Control-Allow-Methods", allow);
  headers.emplace_back("Access-Control-Allow-Headers",
                       "Authorization, Content-Type, X-Org-Id, Idempotency-Key, Last-Event-ID");
  headers.emplace_back("Access-Control-Max-Age", "600");
}

}  // namespace hostler::http
