// Request of a client of the relay, as a plain value: which run, who asks, from where on. Made from
// nginx's parameters; the database has not been asked yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/account/caller.h"
#include "lib/client/access_note.h"
#include "lib/client/gateway.h"
#include "lib/error.h"
#include "lib/formats/formats.h"
#include "lib/postgres/denial_log.h"
#include "sse-relay/scgi_request.h"

namespace hostler::relay {

// Values that every answer needs, also one to a request that cannot be read.
struct AnswerContext {
  std::string trace_id;  // a trusted proxy's, nginx's, else a new one
  std::string origin;
  bool is_protocol = false;  // see http::CorsRequest
  bool is_tls = false;
  client::AccessNote note;   // for nginx's log
  bool is_risky = false;     // for whoever is no platform admin
  std::string needs_factor;  // as client::ClientFacts has it
  bool needs_proof = false;  // of the caller's mail address
};

AnswerContext answer_context(const ScgiRequest& request, const client::Gateway& gateway);

struct StreamRequest {
  std::string run_id;  // as in the path: may be no UUID, then there is no such run
  std::string org_id;  // X-Org-Id; may be no UUID; empty: none
  account::Credential credential;
  int64_t after = 0;                 // the larger of both cursors
  int64_t behind_frame = 0;          // of a format whose streams begin there
  bool has_last_event_id = false;    // EventSource asks again until it is told 204
  bool follow = true;                // false: what is there, then the end
  bool is_head = false;              // the head that GET would have, and nothing more
  std::optional<Error> query_fault;  // told after the 404s, before the next
  std::vector<FieldFault> faults;    // of cursors and query: told after the 404s
  std::string user_agent;
};

// For the audit log: the caller that is refused with 403.
postgres::Denial denial_of(const StreamRequest& wanted, const AnswerContext& context,
                           const Error& error);

// Throws what needs no database: 400, 404 and 405 of the address, 401 without a token of ours.
StreamRequest read_stream_request(const ScgiRequest& request, const formats::Format& format);

}  // namespace hostler::relay
