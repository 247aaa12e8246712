// Metadata of servers and their authorization servers (RFC 9728, RFC 8414, OpenID Connect Discovery
// 1.0): where such documents are, and which of their members are valid. Pure; the input comes from
// a stranger, and is bounded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/http/client_url.h"
#include "runner/oauth/challenge.h"

namespace hostler::runner {

// Where the metadata of a server lie when it does not tell, in the order to try.
std::vector<std::string> resource_metadata_urls(const http::HttpUrl& server);

struct ResourceMetadata {
  std::string resource;  // what tokens are asked for
  std::string issuer;    // of the authorization server that is used: the first it names
  std::optional<std::vector<std::string>> scopes_supported;
};

// Or the fault, for the person who registered the server. A document of another resource is
// refused, because its tokens would be for another server.
std::variant<ResourceMetadata, std::string> read_resource_metadata(std::string_view json,
                                                                   const http::HttpUrl& server);

// Where the metadata of an authorization server lie, in the order to try; none: the issuer is no
// http or https URL without query and fragment.
std::vector<std::string> issuer_metadata_urls(std::string_view issuer);

struct AuthorizationServer {
  std::string issuer;  // as it names itself: as it was asked for, but for a slash at the end
  std::string authorization_endpoint;
  std::string token_endpoint;
  std::string registration_endpoint;  // empty: none
  std::string revocation_endpoint;    // empty: none
  std::vector<std::string> token_auth_methods;
  std::vector<std::string> scopes_supported;
  bool tells_issuer = false;            // in its answers (RFC 9207)
  bool takes_client_documents = false;  // a client's id may be the URL of its metadata

  bool takes_scope(std::string_view scope) const;
};

// Or what is wrong with it, in words. https_only: its endpoints are https.
std::variant<AuthorizationServer, std::string> read_issuer_metadata(std::string_view json,
                                                                    std::string_view issuer,
                                                                    bool https_only);

}  // namespace hostler::runner
