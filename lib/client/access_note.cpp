// The note written and read; see lib/client/access_note.h.
#include "lib/client/access_note.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "lib/account/caller.h"
#include "lib/net/address_guard.h"

namespace hostler::client {

Identity identity_of(const account::Caller& caller) {
  if (!caller.is_known) return {};
  std::string_view type = caller.api_key_id ? "api_key" : caller.user_id.empty() ? "scim" : "user";
  return {type, caller.org_id, caller.user_id};
}

std::string access_note_text(const AccessNote& note) {
  return fmt::format("{} {:.2f} {}", note.client_ip, note.risk_score, identity_text(note.identity));
}

std::optional<AccessNote> read_access_note(std::string_view text) {
  size_t first = std::min(text.find(' '), text.size());
  size_t second = std::min(text.find(' ', first + 1), text.size());
  if (second == text.size()) return std::nullopt;
  AccessNote note;
  const char* risk_end = text.data() + second;
  auto [end, fault] = std::from_chars(text.data() + first + 1, risk_end, note.risk_score);
  std::optional<Identity> identity = read_identity(text.substr(second + 1));
  bool has_form = net::IpAddress::parse(text.substr(0, first)) && fault == std::errc() &&
                  end == risk_end && note.risk_score >= 0 && note.risk_score <= 1 && identity;
  if (!has_form) return std::nullopt;
  note.client_ip = text.substr(0, first);
  note.identity = std::move(*identity);
  return note;
}

}  // namespace hostler::client
