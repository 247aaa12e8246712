// Base URLs of LLM providers as people type them, and as the daemon needs them: with the path of an
// endpoint, without the version, or with it twice. Used by fcgi/api/catalog/llm_providers.cpp.
#pragma once

#include <string>
#include <string_view>

namespace hostler {

// The base URL that a typed one means. typed: an http or https URL without query and fragment.
// Scheme, host and port stay as they were typed, so a stored key goes where it went before.
//   both kinds: without trailing slashes
//   openai:     without /chat/completions, /completions and /responses, and /v1/v1 as /v1; hosts
//               that are known get the path that their Chat Completions need
//   anthropic:  without /v1/messages and /v1, which the daemon appends
std::string corrected_base_url(std::string_view provider_kind, std::string_view typed);

// Describes the fault of a base URL with a query or a fragment, and names the correct form.
std::string query_fault_of_base_url(std::string_view typed);

}  // namespace hostler
