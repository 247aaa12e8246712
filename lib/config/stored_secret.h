// A sealed secret as Postgres hands it over, for SecretBox::open().
#pragma once

#include "lib/config/secret_box.h"
#include "lib/json.h"
#include "lib/postgres/database.h"

namespace hostler::config {

// The columns key_version, wrapped_key and sealed.
SealedSecret stored_secret(const postgres::Row& row);
// The members of those names, with bytes in hexadecimal digits; what is missing opens nothing.
SealedSecret stored_secret(const Json& object);

}  // namespace hostler::config
