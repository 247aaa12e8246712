// Reads from answers of older MCP servers which revision a session may have, and that it is over.
// Pure; the input comes from a stranger.
#pragma once

#include <string>
#include <string_view>

#include "runner/mcp/rpc_answer.h"

namespace hostler::runner {

// The newest revision of ours that an answer names beside the one that it refuses; empty: none.
std::string_view version_in_refusal(const RpcAnswer& answer, std::string_view refused);

// The revision that an answer to initialize agrees on, which may be one that we do not speak;
// empty: it is no such answer. offered: what it was asked with, and what counts if it names none.
std::string agreed_version(const RpcAnswer& answer, std::string_view offered);

// Whether the answer to a request of a session says that its server does not know the session any
// more. Servers say so with 404, as they should, with 400 and words, or with an error in a 200.
bool says_session_is_over(const RpcAnswer& answer);

}  // namespace hostler::runner
