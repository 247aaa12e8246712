// Cross-origin rules (Fetch standard, CORS protocol): which header fields let a page of a
// configured origin call the API and the streams with credentials. Never a star.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hostler::http {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

// Header on which the answer depends.
struct CorsRequest {
  std::string_view origin = {};  // empty: none came
  // Asked below a prefix where clients of other protocols call (is_protocol_path()).
  bool is_protocol = false;
  // Access-Control-Request-Headers, of a preflight; may be anything.
  std::string_view header_names = {};
};

// Whether the path of the request line, as it was sent, is one of /v1/openai, /v1/ui and /v1/agui
// or below (contract section 12).
bool is_protocol_path(std::string_view uri);

// Origins are compared as browsers send them: scheme and host in lower case, no path.
bool is_allowed_origin(std::span<const std::string> allowed_origins, std::string_view origin);

// For an answer to such a request. With no origins configured nothing is added; else at least Vary,
// since the answer depends on Origin.
void add_cors_headers(std::span<const std::string> allowed_origins, const CorsRequest& request,
                      HeaderList& headers);

// Further ones for the answer to a preflight (OPTIONS with Access-Control-Request-Method). Clients
// of other protocols send fields of their own: there the names asked for are repeated, those that
// are names, up to 2 KiB.
void add_preflight_headers(std::span<const std::string> allowed_origins, const CorsRequest& request,
                           std::string_view allow, HeaderList& headers);

}  // namespace hostler::http
