// See sse-relay/stream_opening.h.
#include "sse-relay/stream_opening.h"

#include <string>
#include <vector>

#include "lib/client/request_context.h"
#include "lib/ids.h"
#include "queries/access.h"
#include "queries/stream.h"

namespace hostler::relay {
namespace {

constexpr const char* reads_runs = "data.runs.read";

bool has_form(const StreamRequest& wanted) {
  return is_uuid(wanted.run_id) && (wanted.org_id.empty() || is_uuid(wanted.org_id));
}

// In the contract's order: who asks (told by the statement itself), ids, values.
void check_form(const StreamRequest& wanted) {
  if (!wanted.org_id.empty() && !is_uuid(wanted.org_id)) {
    throw Error(ErrorCode::orgs_not_found, "X-Org-Id is not an id of an organization.");
  }
  if (!is_uuid(wanted.run_id)) throw Error(ErrorCode::runs_not_found);
}

// Credential of the request. The row of an access token has its rights, if the request asks nothing
// that it does not know (as in fcgi/identity/authentication.cpp).
postgres::BoundStatement authentication(const StreamRequest& wanted, const AnswerContext& answer) {
  client::RequestContext context;
  context.trace_id = answer.trace_id;
  context.client_ip = answer.note.client_ip;
  context.user_agent = wanted.user_agent;
  context.is_risky = answer.is_risky;
  context.needs_proof = answer.needs_proof;
  context.needs_factor = answer.needs_factor;
  // An X-Org-Id that is not a UUID is reported after the caller is known.
  std::optional<std::string_view> org = std::nullopt;
  if (is_uuid(wanted.org_id)) org = wanted.org_id;
  bool is_key = wanted.credential.kind == account::Credential::Kind::api_key;
  if (!is_key && !context.is_risky && context.needs_factor != "everyone") {
    return query::AuthenticateByToken{.token_hash = wanted.credential.hash,
                                      .org_id = org,
                                      .permission = reads_runs,
                                      .writes = false,
                                      .needs_proof = context.needs_proof,
                                      .context = client::request_context_json(context)};
  }
  return query::Authenticate{.token_hash = wanted.credential.hash,
                             .is_key = is_key,
                             .org_id = org,
                             .permission = reads_runs,
                             .takes_key = true,
                             .context = client::request_context_json(context)};
}

}  // namespace

bool asks_for_events(const StreamRequest& wanted) {
  return has_form(wanted) && !wanted.query_fault && wanted.faults.empty();
}

postgres::Batch opening_batch(const StreamRequest& wanted, const formats::Format& format,
                              const AnswerContext& context, int64_t limit_of_org) {
  postgres::Batch batch;
  batch.add(authentication(wanted, context));
  if (!has_form(wanted)) return batch;
  batch.add(query::StreamOpen{.run_id = wanted.run_id,
                              .limit_streams = limit_of_org,
                              .wants_input_seq = format.start == formats::Start::last_input,
                              .wants_answer = format.start == formats::Start::last_answer});
  if (!asks_for_events(wanted)) return batch;
  std::vector<UuidBytes> run_ids{uuid_bytes(wanted.run_id)};
  std::vector<int64_t> afters{wanted.after};
  std::vector<bool> usage_wanted{format.tells_usage};
  batch.add(page_statement(run_ids, afters, usage_wanted));
  return batch;
}

StreamOpening read_opening(const StreamRequest& wanted, const postgres::Results& results) {
  check_form(wanted);
  if (results.at(1).empty()) throw Error(ErrorCode::runs_not_found);
  if (wanted.query_fault) throw *wanted.query_fault;
  if (!wanted.faults.empty()) throw Error::validation(wanted.faults);
  postgres::Row run = results[1].front();
  StreamOpening opening;
  opening.last_seq = run.integer("last_seq");
  opening.is_ended = run.boolean("is_ended");
  opening.limit_of_org = run.integer("limit_streams");
  if (!run.is_null("client_facts")) opening.client_facts = run.text("client_facts");
  opening.is_checked = run.boolean("is_checked");
  if (!run.is_null("input_seq")) opening.input_seq = run.integer("input_seq");
  opening.page = std::move(pages_of(results.at(2), {wanted.run_id}).front());
  // Events go by whole months, with their partition.
  bool is_pruned =
      opening.is_ended && opening.last_seq > wanted.after && opening.page.events->is_empty();
  if (is_pruned) throw Error(ErrorCode::runs_events_expired);
  return opening;
}

}  // namespace hostler::relay
