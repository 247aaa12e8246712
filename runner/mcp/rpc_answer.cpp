// See runner/mcp/rpc_answer.h.
#include "runner/mcp/rpc_answer.h"

#include "lib/json.h"
#include "lib/utf8.h"
#include "runner/mcp/raw_json.h"

namespace hostler::runner {
namespace {

constexpr size_t words_bytes_max = 2000;

}  // namespace

std::optional<RpcAnswer> read_response(std::string_view text, std::string_view id) {
  if (!has_few_values(text)) return std::nullopt;
  std::optional<Json> json = parse_json_or_nothing(text);
  if (!json || !json->is_object() || json->text_or("jsonrpc") != "2.0") return std::nullopt;
  const Json* error = json->find("error");
  if (error == nullptr && json->find("result") == nullptr) return std::nullopt;
  // A server that refuses what it did not read knows no id (JSON-RPC 2.0, section 5), whatever its
  // HTTP status: as older ones do with server/discover.
  const Json* of = json->find("id");
  bool is_of_nothing = error != nullptr && (of == nullptr || of->is_null());
  if (!id.empty() && !is_of_nothing && json->text_or("id") != id) return std::nullopt;
  RpcAnswer answer;
  if (error == nullptr) {
    answer.kind = RpcAnswer::Kind::result;
    answer.json = raw_member(text, "result").value_or("");
    return answer;
  }
  answer.kind = RpcAnswer::Kind::error;
  answer.code = error->integer_or("code", 0);
  answer.message = utf8_prefix(error->text_or("message"), words_bytes_max);
  std::optional<std::string_view> raw = raw_member(text, "error");
  answer.json = raw ? std::string(raw_member(*raw, "data").value_or("")) : "";
  return answer;
}

}  // namespace hostler::runner
