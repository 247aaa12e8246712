// See lib/identity.h.
#include "lib/identity.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "lib/ids.h"

namespace hostler {
namespace {

constexpr std::array<std::string_view, 4> identity_types{"anonymous", "user", "api_key", "scim"};

std::string_view or_dash(std::string_view id) { return id.empty() ? "-" : id; }

// The text of the table, which outlives the one that is read.
std::optional<std::string_view> known_type(std::string_view text) {
  auto found = std::find(identity_types.begin(), identity_types.end(), text);
  return found == identity_types.end() ? std::nullopt : std::optional(*found);
}

bool is_id_or_dash(std::string_view text) { return text == "-" || is_uuid(text); }

std::string id_of(std::string_view text) { return std::string(text == "-" ? "" : text); }

}  // namespace

std::string identity_text(const Identity& identity) {
  return fmt::format("{} {} {}", identity.type, or_dash(identity.org_id),
                     or_dash(identity.user_id));
}

std::optional<Identity> read_identity(std::string_view text) {
  size_t first = std::min(text.find(' '), text.size());
  size_t second = std::min(text.find(' ', first + 1), text.size());
  if (second == text.size()) return std::nullopt;
  std::optional<std::string_view> type = known_type(text.substr(0, first));
  std::string_view org_id = text.substr(first + 1, second - first - 1);
  std::string_view user_id = text.substr(second + 1);
  if (!type || !is_id_or_dash(org_id) || !is_id_or_dash(user_id)) return std::nullopt;
  return Identity{*type, id_of(org_id), id_of(user_id)};
}

}  // namespace hostler
