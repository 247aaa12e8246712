// See lib/config/stored_secret.h.
#include "lib/config/stored_secret.h"

#include "lib/crypto.h"

namespace hostler::config {

SealedSecret stored_secret(const postgres::Row& row) {
  return {row.integer("key_version"), row.bytes("wrapped_key"), row.bytes("sealed")};
}

SealedSecret stored_secret(const Json& object) {
  return {object.integer_or("key_version", 0), from_hex(object.text_or("wrapped_key")).value_or(""),
          from_hex(object.text_or("sealed")).value_or("")};
}

}  // namespace hostler::config
