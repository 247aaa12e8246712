// The note written and read; see lib/access_note.h.
#include "lib/access_note.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "lib/address_guard.h"
#include "lib/caller.h"
#include "lib/ids.h"
#include "lib/json.h"

namespace hostler {
namespace {

constexpr std::array<std::string_view, 3> identity_types{"anonymous", "user", "api_key"};
constexpr std::string_view caller_member = "caller";

std::string_view or_dash(std::string_view id) { return id.empty() ? "-" : id; }

// The table's own text, which outlives the note. Nothing for another.
std::optional<std::string_view> known_type(std::string_view text) {
  auto found = std::find(identity_types.begin(), identity_types.end(), text);
  return found == identity_types.end() ? std::nullopt : std::optional(*found);
}

bool is_id_or_dash(std::string_view text) { return text == "-" || is_uuid(text); }

std::string id_of(std::string_view text) { return std::string(text == "-" ? "" : text); }

}  // namespace

Identity identity_of(const Caller& caller) {
  if (!caller.is_known) return {};
  return {caller.api_key_id ? identity_types[2] : identity_types[1], caller.org_id, caller.user_id};
}

std::optional<Identity> take_identity(Error& error) {
  auto found = std::find_if(error.members.begin(), error.members.end(),
                            [](const auto& member) { return member.first == caller_member; });
  if (found == error.members.end()) return std::nullopt;
  std::optional<Json> caller = parse_json_or_nothing(found->second);
  error.members.erase(found);
  if (!caller) return std::nullopt;
  std::optional<std::string_view> type = known_type(caller->text_or("type"));
  if (!type) return std::nullopt;
  return Identity{*type, std::string(caller->text_or("org_id")),
                  std::string(caller->text_or("user_id"))};
}

std::string access_note_text(const AccessNote& note) {
  return fmt::format("{} {:.2f} {} {} {}", note.client_ip, note.risk_score, note.identity.type,
                     or_dash(note.identity.org_id), or_dash(note.identity.user_id));
}

std::optional<AccessNote> read_access_note(std::string_view text) {
  std::array<std::string_view, 5> words;
  for (size_t i = 0; i < words.size(); ++i) {
    size_t end = i + 1 == words.size() ? text.size() : std::min(text.find(' '), text.size());
    words[i] = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  AccessNote note;
  auto [end, fault] =
      std::from_chars(words[1].data(), words[1].data() + words[1].size(), note.risk_score);
  std::optional<std::string_view> type = known_type(words[2]);
  bool has_form = IpAddress::parse(words[0]) && fault == std::errc() &&
                  end == words[1].data() + words[1].size() && note.risk_score >= 0 &&
                  note.risk_score <= 1 && type && is_id_or_dash(words[3]) &&
                  is_id_or_dash(words[4]);
  if (!has_form) return std::nullopt;
  note.client_ip = words[0];
  note.identity = {*type, id_of(words[3]), id_of(words[4])};
  return note;
}

}  // namespace hostler
