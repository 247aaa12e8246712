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

// Origins are compared as browsers send them: scheme and host in lower case, no path.
bool is_allowed_origin(std::span<const std::string> allowed_origins, std::string_view origin);

// For an answer to a request from that origin; empty origin: none came. With no origins configured
// nothing is added; else at least Vary, since the answer depends on Origin.
void add_cors_headers(std::span<const std::string> allowed_origins, std::string_view origin,
                      HeaderList& headers);

// Further ones for the answer to a preflight (OPTIONS with Access-Control-Request-Method).
void add_preflight_headers(std::span<const std::string> allowed_origins, std::string_view origin,
                           std::string_view allow, HeaderList& headers);

}  // namespace hostler::http
