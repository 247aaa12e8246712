// Calls that happen once (Idempotency-Key, contract section 1): all that such a request sends runs
// in one transaction, which ends by keeping the answer. Called by fcgi/dispatch.cpp around the
// handler, which knows nothing of it; fcgi/services.cpp sends its statements there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fcgi/request.h"
#include "fcgi/response.h"
#include "lib/loop/db.h"
#include "lib/loop/task.h"

namespace hostler {

class Services;

// The open call, held by its request. Ending it without finish_once rolls all of it back.
struct Once {
  Once(Transaction opened, std::string hash) : transaction(std::move(opened)), call_hash(hash) {}
  Transaction transaction;
  std::string call_hash;  // of path and key
  std::string body_hash;  // of query and body
  std::string secret_id;  // under which the answer will be sealed
  Batch bells;            // ring after the commit
};

// The Idempotency-Key of a request whose route heeds it; nothing when none came. 422 when it is
// empty or too long.
std::optional<std::string_view> once_key(const Request& request);

// Authenticates, and opens the transaction. Answers the first call's answer when there is one:
// then the handler must not run. Throws the 401 to 404 of the caller, 409 or 422 of the key.
Task<std::optional<Response>> begin_once(Services& services, Request& request,
                                         std::string_view key);
// Keeps a 2xx answer and commits; then the bells ring.
Task<void> finish_once(Services& services, Request& request, const Response& response);

}  // namespace hostler
