// A request that may ask the database: its row is found, its client is known, its credential has a
// good form, and its rate limit lets it pass. Made by fcgi/dispatch.cpp.
#pragma once

#include <cstdint>

#include "fcgi/http/client.h"
#include "fcgi/http/route.h"
#include "lib/account/caller.h"

namespace hostler {

// The referenced objects outlive it.
struct Admitted {
  const Routed& routed;
  const Client& client;
  account::Credential credential;  // of an open route: none
  int64_t fresh_seconds = 0;       // how long ago the login may be at most; 0: any time
};

}  // namespace hostler
