// Cross-origin header fields; see lib/http/cors.h.
#include "lib/http/cors.h"

#include <algorithm>
#include <array>

#include "lib/ascii.h"

namespace hostler::http {
namespace {

constexpr std::array<std::string_view, 3> protocol_paths{"/v1/openai", "/v1/ui", "/v1/agui"};
constexpr size_t repeated_bytes_max = 2048;

// Appends each name to the list. A lone star would permit everything, so it is dropped.
void repeat_names(std::string_view asked, std::string& names) {
  size_t bytes_max = names.size() + repeated_bytes_max;
  while (!asked.empty()) {
    size_t end = std::min(asked.find(','), asked.size());
    std::string_view name = ascii::trimmed(asked.substr(0, end), ascii::blanks);
    asked.remove_prefix(std::min(end + 1, asked.size()));
    if (!ascii::is_token(name) || name == "*") continue;
    if (names.size() + 2 + name.size() > bytes_max) return;
    names.append(", ").append(name);
  }
}

}  // namespace

bool is_protocol_path(std::string_view uri) {
  return std::any_of(protocol_paths.begin(), protocol_paths.end(), [uri](std::string_view path) {
    if (!uri.starts_with(path)) return false;
    std::string_view rest = uri.substr(path.size());
    return rest.empty() || rest.front() == '/' || rest.front() == '?';
  });
}

bool is_allowed_origin(std::span<const std::string> allowed_origins, std::string_view origin) {
  return !origin.empty() && origin != "null" &&
         std::find(allowed_origins.begin(), allowed_origins.end(), origin) != allowed_origins.end();
}

void add_cors_headers(std::span<const std::string> allowed_origins, const CorsRequest& request,
                      HeaderList& headers) {
  if (allowed_origins.empty()) return;
  headers.emplace_back("Vary", "Origin");
  if (!is_allowed_origin(allowed_origins, request.origin)) return;
  headers.emplace_back("Access-Control-Allow-Origin", request.origin);
  headers.emplace_back("Access-Control-Allow-Credentials", "true");
  std::string exposed =
      "X-Trace-Id, Link, RateLimit, RateLimit-Policy, Retry-After, Idempotency-Replayed, "
      "X-Hostler-Run, X-Hostler-Thread";
  // The last two are how clients of OpenAI's API learn the trace id, and not to repeat a request.
  if (request.is_protocol) {
    exposed += ", x-vercel-ai-ui-message-stream, x-request-id, x-should-retry";
  }
  headers.emplace_back("Access-Control-Expose-Headers", std::move(exposed));
}

void add_preflight_headers(std::span<const std::string> allowed_origins, const CorsRequest& request,
                           std::string_view allow, HeaderList& headers) {
  if (!is_allowed_origin(allowed_origins, request.origin)) return;
  headers.emplace_back("Access-Control-Allow-Methods", allow);
  std::string names = "Authorization, Content-Type, X-Org-Id, Idempotency-Key, Last-Event-ID";
  if (request.is_protocol) repeat_names(request.header_names, names);
  headers.emplace_back("Access-Control-Allow-Headers", std::move(names));
  headers.emplace_back("Access-Control-Max-Age", "600");
}

}  // namespace hostler::http
