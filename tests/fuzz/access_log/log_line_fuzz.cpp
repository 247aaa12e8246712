// Lines of nginx's access log: a line is a row of bounded texts and plain numbers, or nothing at
// all.
#include "runner/access_log/log_line.h"

#include <cmath>

#include "lib/account/caller.h"
#include "lib/client/access_note.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

void check_note(std::string_view input) {
  std::optional<client::AccessNote> note = client::read_access_note(input);
  if (!note) return;
  require(net::IpAddress::parse(note->client_ip).has_value(), "a note has an address");
  require(note->risk_score >= 0 && note->risk_score <= 1, "a risk is 0 to 1");
  std::optional<client::AccessNote> again =
      client::read_access_note(client::access_note_text(*note));
  require(again && again->client_ip == note->client_ip &&
              again->identity.type == note->identity.type &&
              again->identity.user_id == note->identity.user_id,
          "a note written and read is the same");
}

// Text of a refusal about the caller, and the caller as the database names them.
void check_identity(std::string_view input) {
  std::optional<Identity> identity = read_identity(input);
  require(!identity || identity_text(*identity) == input, "who is read is who was written");
  account::Caller caller;
  caller.is_known = input.size() % 4 != 0;
  caller.user_id = identity ? identity->user_id : "u";
  if (input.size() % 2 != 0) caller.api_key_id = "k";
  caller.permissions = "{" + std::string(input) + "}";
  for (std::string_view name : caller.permission_names()) {
    require(name.find(',') == std::string_view::npos, "a permission is one");
    require(caller.may(name), "and is held");
  }
  Identity known = client::identity_of(caller);
  require(caller.is_known ? known.user_id == caller.user_id : known.type == "anonymous",
          "who is not known is nobody");
}

void check_entry(const Json& entry) {
  require(entry.is_object() && entry.as_object()->size() == 15, "a row has its members");
  require(entry.find("at")->as_number() && std::isfinite(*entry.find("at")->as_number()), "a time");
  int64_t status = entry.integer_or("status_code", -1);
  require(status >= 0 && status <= 999, "a status is one");
  require(entry.integer_or("duration_ms", -1) >= 0, "a duration is not negative");
  require(net::IpAddress::parse(entry.text_or("client_ip")).has_value(), "a client has an address");
  require(entry.text_or("method").size() <= 32 && entry.text_or("path").size() <= 2048 &&
              entry.text_or("user_agent").size() <= 1024,
          "texts are bounded");
  require(entry.text_or("path").find('?') == std::string_view::npos, "no query is kept");
  double risk = entry.find("risk_score")->as_number().value_or(-1);
  require(risk >= 0 && risk <= 1, "a risk is 0 to 1");
}

}  // namespace

void log_line(std::string_view input) {
  static const client::Gateway gateway{config::Settings()};
  static const runner::GeoLookup nowhere("");
  check_note(input);
  check_identity(input);
  JsonWriter entries;
  entries.begin_array();
  bool is_taken = runner::write_log_entry(input, gateway, nowhere, entries);
  std::string written = entries.end_array().take();
  require(is_taken || written == "[]", "a line that is not taken leaves nothing");
  if (!is_taken) return;
  std::optional<Json> rows = parse_json_or_nothing(written);
  require(rows && rows->is_array() && rows->as_array()->size() == 1, "a line is one row");
  check_entry(rows->as_array()->front());
}

}  // namespace hostler::fuzz
