// See runner/mcp/rpc_answer.h.
#include "runner/mcp/rpc_answer.h"

#include <optional>
#include <string>
#include <vector>

#include "lib/json.h"
#include "lib/json_mend.h"
#include "lib/json_whole.h"
#include "lib/utf8.h"
#include "runner/mcp/raw_json.h"

namespace hostler::runner {
namespace {

constexpr size_t words_bytes_max = 2000;

// Ids of ours are whole numbers; some servers make a string of them.
bool is_same_id(const Json& id, std::string_view ours) {
  if (std::optional<int64_t> whole = whole_of(id)) return std::to_string(*whole) == ours;
  return id.is_text() && *id.as_text() == ours;
}

RpcAnswer error_of(const Json& error, std::string_view raw) {
  RpcAnswer answer;
  answer.kind = RpcAnswer::Kind::error;
  // A gateway before the server may tell its error as words.
  bool is_object = error.is_object();
  answer.code = is_object ? error.integer_or("code", 0) : 0;
  std::string_view words = error.is_text() ? *error.as_text() : std::string_view();
  answer.message = utf8_prefix(is_object ? error.text_or("message") : words, words_bytes_max);
  answer.json = raw_member(raw, "data").value_or("");
  return answer;
}

std::optional<RpcAnswer> response_of(const Json& json, std::string_view text, std::string_view id) {
  if (!json.is_object() || json.text_or("jsonrpc", "2.0") != "2.0") return std::nullopt;
  const Json* error = json.find("error");
  if (error != nullptr && error->is_null()) error = nullptr;  // beside a result
  if (error == nullptr && json.find("result") == nullptr) return std::nullopt;
  // A server that refuses what it did not read knows no id (JSON-RPC 2.0, section 5), whatever its
  // HTTP status: as older ones do with server/discover. Some leave it out of results, too.
  const Json* of = json.find("id");
  bool is_of_nothing = of == nullptr || of->is_null();
  if (!id.empty() && !is_of_nothing && !is_same_id(*of, id)) return std::nullopt;
  if (error != nullptr) return error_of(*error, raw_member(text, "error").value_or(""));
  RpcAnswer answer;
  answer.kind = RpcAnswer::Kind::result;
  answer.json = raw_member(text, "result").value_or("");
  return answer;
}

// Revision 2025-03-26 has batches: the response is one of the messages.
std::optional<RpcAnswer> response_among(const Json& batch, std::string_view text,
                                        std::string_view id) {
  std::vector<std::string_view> raw = raw_elements(text);
  for (size_t i = 0; i < raw.size() && i < batch.as_array()->size(); ++i) {
    std::optional<RpcAnswer> read = response_of((*batch.as_array())[i], raw[i], id);
    if (read) return read;
  }
  return std::nullopt;
}

}  // namespace

std::optional<RpcAnswer> read_response(std::string_view text, std::string_view id) {
  if (!has_few_values(text)) return std::nullopt;
  std::optional<Json> json = parse_json_or_nothing(text);
  std::string mended;
  if (!json) {
    mended = mended_json(text);
    text = mended;
    json = parse_json_or_nothing(text);
  }
  if (!json) return std::nullopt;
  return json->is_array() ? response_among(*json, text, id) : response_of(*json, text, id);
}

}  // namespace hostler::runner
