// Shared input of the handlers of LLM providers and tool providers: the address of a provider,
// checked by its scope, and its key, sealed before it is stored.
#pragma once

#include <optional>
#include <string>

#include "fcgi/http/handler.h"
#include "fcgi/http/input.h"
#include "lib/loop/task.h"

namespace hostler {

// http(s) without user info, query or fragment; trailing slashes are cut. For an organization https
// to a public address only; a host name is looked up, and refused when it leads to none (contract
// section 5). A fault is added to fields as "base_url".
Task<std::optional<std::string>> read_base_url(const Call& call, Fields& fields,
                                               std::optional<std::string> written);

// A fault of "api_key" for a key that no request could carry: it would fail at the first run only.
void check_key(Fields& fields, const std::optional<std::string>& key);

// Stored form of a provider's key; nothing without a key.
struct ProviderKey {
  std::optional<std::string> prefix;  // as it is shown
  std::optional<std::string> secret;  // sealed, for the statement
};

// Seals the key for the request's scope. kind: llm_provider or tool_provider.
ProviderKey seal_key(const Call& call, std::string kind, const std::optional<std::string>& key);

}  // namespace hostler
