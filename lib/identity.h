// Identity that a request acted as, for logs: the note of an access, the audit of a refusal.
// Written by the programs and by authenticate() in the database, as one line. Clients never see it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hostler {

struct Identity {
  std::string_view type = "anonymous";  // or user, api_key, scim; of static text
  std::string org_id;
  std::string user_id;
};

// "user ORG USER"; absent ids are "-".
std::string identity_text(const Identity& identity);
// Returns nothing if the text has another form.
std::optional<Identity> read_identity(std::string_view text);

}  // namespace hostler
