// How every batch of a request begins: with who acts, as data for sql: authenticate() and enter().
// Used by fcgi/services.cpp alone; no handler sees it.
#pragma once

#include <cstdint>
#include <string_view>

#include "fcgi/request.h"
#include "lib/loop/db.h"

namespace hostler {

// What a batch asks of authenticate() besides who calls.
enum class Asks : uint8_t {
  reading,  // never waits, so that it may go on the quick lane
  writing,  // holds the caller until its transaction ends: it waits while the caller is ended
  retold,   // an attempt that was refused: address, proof and risk are not judged again
};

bool will_authenticate(const Request& request);

// The first batch of a request authenticates its caller; further ones enter as the caller it found,
// but those that write authenticate anew: the caller may have ended since.
Batch begin_batch(Request& request, Asks asks);
// As the route says: it writes, unless the transaction around it holds the caller already.
Batch begin_batch(Request& request);

// Whoever shows the token, without a need. org_id: empty for the caller's own.
void add_identification(const Request& request, std::string_view org_id, Batch& batch);

}  // namespace hostler
