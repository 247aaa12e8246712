// Facts that a program passes to nginx about a request, for the line in nginx's access log: one
// answer header field that nginx logs and hides from clients. Written by the pool and the relay,
// read by the daemon's tailer of that log. It never contains a secret or anything that the client
// sent.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/identity.h"

namespace hostler::account {
struct Caller;
}  // namespace hostler::account

namespace hostler::client {

Identity identity_of(const account::Caller& caller);

struct AccessNote {
  std::string client_ip;
  double risk_score = 0;
  Identity identity;
};

constexpr std::string_view access_note_header = "X-Hostler-Note";

// "192.0.2.1 0.20 user ORG USER"; absent ids are "-".
std::string access_note_text(const AccessNote& note);
// Returns nothing if the text has another form.
std::optional<AccessNote> read_access_note(std::string_view text);

}  // namespace hostler::client
