// Writes messages to MCP servers: JSON-RPC messages and their header fields, of revision
// 2026-07-28, where each request stands alone, and of older ones, which begin with initialize.
// Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/http/client.h"

namespace hostler::runner {

constexpr std::string_view modern_version = "2026-07-28";
constexpr std::string_view first_older_version = "2025-11-25";  // that initialize offers

// One of those that begin with initialize.
bool is_older_version(std::string_view version);
// The newest one of them that is wanted; empty: none is.
std::string_view newest_older_version(const std::function<bool(std::string_view)>& is_wanted);
// All revisions that we speak, newest first, for messages.
std::string known_versions();

// How a server is spoken with.
struct Speech {
  std::string version{modern_version};
  std::string session_id;  // of an older server that gave one
  bool is_modern() const { return version == modern_version; }
};

struct RpcMessage {
  std::string method;
  std::string params;  // JSON text of an object, without _meta; empty: none
  std::string name;    // of the tool that is called, or the task that is meant; else empty
  std::vector<http::HttpField> param_headers;
  std::string id;  // digits; empty: a notification
  // Whether it may be sent once more to a server that answered it: one that lost the session.
  bool may_repeat = true;
};

// An id that no request of a session had before: digits of a positive int.
std::string new_rpc_id();

std::string rpc_body(const RpcMessage& message, const Speech& speech);
// Its own fields; credentials come besides.
std::vector<http::HttpField> rpc_headers(const RpcMessage& message, const Speech& speech);

// The answer to something that an older server asked for. result: JSON text.
std::string rpc_answer(std::string_view id_json, std::string_view result);
std::string rpc_refusal(std::string_view id_json);

// That nobody waits for the answer to the request with that id any more: for older servers, to whom
// a connection that is closed does not say so.
RpcMessage cancellation_of(std::string_view id);

// The params of initialize with which that revision is offered.
std::string initialize_params(std::string_view version);

}  // namespace hostler::runner
