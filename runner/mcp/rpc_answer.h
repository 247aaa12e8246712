// Answer to a request to an MCP server, and the reader of a server's message. Pure; the input comes
// from a stranger.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hostler::runner {

struct RpcAnswer {
  enum class Kind {
    result,  // json: the result
    error,   // code, message, json: the error's data
    status,  // an HTTP answer without a message: status, www_authenticate
    failed,  // no answer: was_heard, message
  };
  Kind kind = Kind::failed;
  std::string json;
  int64_t code = 0;
  std::string message;  // of an error the server's own words, bounded; else ours
  int status = 0;
  std::string www_authenticate;
  std::string session_id;
  bool was_heard = true;    // failed: whether the server may have heard it
  bool is_timeout = false;  // failed: nothing came in time
  bool is_denied = false;   // failed: an address that may not be called
  bool is_bad = false;      // failed: the server answered, with nothing that answers the request
};

// A message of a server, or a batch: the response with that id, or with none, read; nothing: it is
// another message. What JSON cannot store of it (lib/json_mend.h) is lost.
std::optional<RpcAnswer> read_response(std::string_view text, std::string_view id);

}  // namespace hostler::runner
