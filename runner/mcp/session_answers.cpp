// See runner/mcp/session_answers.h.
#include "runner/mcp/session_answers.h"

#include <algorithm>
#include <array>
#include <optional>

#include "lib/ascii.h"
#include "lib/json.h"
#include "lib/utf8.h"
#include "runner/mcp/wire.h"

namespace hostler::runner {
namespace {

constexpr size_t version_bytes_max = 40;

constexpr std::array<std::string_view, 12> over_words = {
    "not found", "no valid",  "invalid",   "expired", "unknown",         "terminated",
    "missing",   "no longer", "not exist", "closed",  "not initialized", "not an initialize"};

}  // namespace

std::string_view version_in_refusal(const RpcAnswer& answer, std::string_view refused) {
  std::string words = answer.message + " " + answer.json;
  auto is_named = [&](std::string_view version) {
    return version != refused && words.find(version) != std::string::npos;
  };
  return is_named(modern_version) ? modern_version : newest_older_version(is_named);
}

std::string agreed_version(const RpcAnswer& answer, std::string_view offered) {
  if (answer.kind != RpcAnswer::Kind::result) return {};
  std::optional<Json> result = parse_json_or_nothing(answer.json);
  if (!result || !result->is_object()) return {};
  std::string_view version = result->text_or("protocolVersion");
  if (!version.empty()) return std::string(utf8_prefix(version, version_bytes_max));
  bool is_answer = result->find("capabilities") != nullptr || result->find("serverInfo") != nullptr;
  return is_answer ? std::string(offered) : std::string();
}

bool says_session_is_over(const RpcAnswer& answer) {
  bool is_message = answer.kind == RpcAnswer::Kind::status || answer.kind == RpcAnswer::Kind::error;
  if (!is_message || answer.status == 401 || answer.status == 403 || answer.status >= 500) {
    return false;
  }
  if (answer.status == 404) return true;
  std::string words = ascii::lower_case(answer.message);
  bool is_of_session = words.find("session") != std::string::npos ||
                       words.find("not initialized") != std::string::npos;
  return is_of_session && std::any_of(over_words.begin(), over_words.end(), [&](auto word) {
           return words.find(word) != std::string::npos;
         });
}

}  // namespace hostler::runner
