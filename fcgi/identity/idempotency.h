// Calls that happen once (Idempotency-Key, contract section 1): all that such a call sends runs in
// one transaction, which ends by storing the answer. A wrapper that fcgi/answer_call.cpp puts
// around the handler, which knows nothing of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fcgi/http/admitted.h"
#include "fcgi/http/response.h"
#include "lib/account/caller.h"
#include "lib/config/secret_box.h"
#include "lib/config/settings.h"
#include "lib/loop/task.h"
#include "lib/postgres/database.h"

namespace hostler {

// The Idempotency-Key of a request whose route takes one; nothing when none came. Throws 422 when
// it is empty or too long.
std::optional<std::string_view> idempotency_key(const Routed& routed);

// State of a call by its key.
struct IdempotentCall {
  std::string call_hash;  // of path and key
  std::string body_hash;  // of query and body
};
IdempotentCall idempotent_call(const Routed& routed, std::string_view key);

// The statement that follows the authentication: raises the 409 or 422 of the key.
postgres::BoundStatement idempotency_begin(const IdempotentCall& call);
// The answer of the first call, when its row tells one: then the handler must not run.
std::optional<Response> stored_answer(const config::SecretBox& secret_box,
                                      const account::Caller& caller, const postgres::Row& begun);
// Stores a 2xx answer, or raises that the organization may store no more. secret_id: the begun
// row's new_secret_id.
postgres::BoundStatement answer_storing(const config::SecretBox& secret_box,
                                        const config::Settings& settings,
                                        const account::Caller& caller, const IdempotentCall& call,
                                        std::string secret_id, const Response& response);

}  // namespace hostler
