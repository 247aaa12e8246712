// How every batch begins: with who acts, as data for sql: authenticate() and set_request_context().
// Used by fcgi/answer_call.cpp, fcgi/dispatch.cpp and fcgi/identity/caller_database.cpp; no
// handler sees it.
#pragma once

#include <cstdint>
#include <string_view>

#include "fcgi/http/admitted.h"
#include "lib/account/caller.h"
#include "lib/config/settings.h"
#include "lib/postgres/database.h"

namespace hostler {

// Parameters of authenticate() for a batch besides the caller.
enum class Asks : uint8_t {
  reading,  // never waits, so that it may go on the pipelined connection
  writing,  // holds the caller until its transaction ends: it waits while the caller is ended
};

// Parameters for the statements of the route, if no surrounding batch locks the caller.
inline Asks asks_of(const Route& route) { return writes(route) ? Asks::writing : Asks::reading; }

// Admitted::fresh_seconds: what the route and, where that matters, its body ask for.
int64_t fresh_seconds(const Routed& routed, const config::Settings& settings);

// Finds the caller, or raises the 401, 403 or 404 of it.
postgres::BoundStatement authentication(const Admitted& request, Asks asks);
// Further batches act as the found caller. Those that write authenticate again, because the caller
// may have ended since. login_hmac: see CallerDatabase::set_login_hmac.
postgres::BoundStatement authentication_again(const Admitted& request,
                                              const account::Caller& caller, Asks asks,
                                              std::string_view login_hmac);
// In a transaction that holds the caller, or of an open route (null): nobody.
postgres::BoundStatement entry(const Admitted& request, const account::Caller* caller,
                               std::string_view login_hmac);
// Caller with the token, in their own organization and without a required permission: after the
// request has failed. Address, proof and risk are not checked again.
postgres::BoundStatement identification(const Admitted& request);

}  // namespace hostler
