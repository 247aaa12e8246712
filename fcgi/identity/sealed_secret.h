// A secret made ready to be stored: sealed under a new id, for one kind and organization alone.
// Called by handlers, whose statements store it; never keeps or logs what it seals.
#pragma once

#include <string>
#include <string_view>

#include "lib/config/secret_box.h"

namespace hostler {

struct NewSecret {
  std::string id;
  std::string json;  // for the statement, as secret_json() makes it
};

// org_id: empty for the platform's. kind: of the table secrets.
NewSecret seal_secret(const config::SecretBox& secret_box, std::string org_id, std::string kind,
                      std::string_view plain);

// Signing secret of webhooks: shown once, stored sealed.
struct SigningSecret {
  std::string text;  // whsec_ and base64 of 32 bytes, as Standard Webhooks has it
  std::string json;  // sealed, for the statement
};

SigningSecret make_signing_secret(const config::SecretBox& secret_box, std::string org_id,
                                  std::string kind);

}  // namespace hostler
