// A request that may ask the database: its row is found, its client is known, its credential has a
// good form, and there is room for it. Made by fcgi/dispatch.cpp.
#pragma once

#include "fcgi/client.h"
#include "fcgi/route.h"
#include "lib/caller.h"

namespace hostler {

// What it refers to outlives it.
struct Admitted {
  const Routed& routed;
  const Client& client;
  Credential credential;  // of an open route: none
};

}  // namespace hostler
