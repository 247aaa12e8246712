// What the handlers of LLM providers and tool providers have in common: the address of a provider,
// judged by its scope, and its key, sealed before it is stored.
#pragma once

#include <optional>
#include <string>

#include "fcgi/input.h"
#include "fcgi/services.h"

namespace hostler {

// http(s) without user info, query or fragment; trailing slashes are cut. For an organization https
// to a public address only; a host name is looked up, and refused when it leads to none (contract
// section 5). A fault is added to fields as "base_url".
Task<std::optional<std::string>> read_base_url(Services& services, Request& request, Fields& fields,
                                               std::optional<std::string> written);

struct NewSecret {
  std::string json;  // {id, key_version, wrapped_key, sealed}, bytes in base64
  std::string key_prefix;
};

// Seals the key for the request's scope under a new id of the database. kind: llm_provider or
// tool_provider. The caller is known by then.
Task<NewSecret> seal_key(Services& services, Request& request, std::string kind, std::string key);

}  // namespace hostler
