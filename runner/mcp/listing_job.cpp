// See runner/mcp/listing_job.h.
#include "runner/mcp/listing_job.h"

#include <utility>

#include "lib/crypto.h"
#include "lib/log.h"
#include "queries/mcp_listings.h"
#include "runner/mcp/listing.h"

namespace hostler::runner {
namespace {

constexpr int64_t poll_ms = 1000;
// At once, in all and of one organization: a server that does not answer delays its own.
constexpr size_t listings_max = 16;
constexpr size_t org_listings_max = 2;
constexpr int64_t request_limit_ms = 15'000;
// Longer than all requests of a listing that ends; one that does not is cut there.
constexpr int64_t listing_limit_ms = 60'000;
constexpr int claim_seconds = 75;

void log_listing_failure(const std::string& name, std::exception_ptr failure) {
  log_error("mcp_listing_failed", {{"listing_id", name}, {"cause", loop::cause_of(failure)}});
}

}  // namespace

ListingJob::ListingJob(OAuthServices services)
    : services_(services),
      turns_(org_listings_max),
      listings_(services.loop, log_listing_failure) {}

void ListingJob::look() {
  again_ = true;
  notified_.notify();
}

Task<void> ListingJob::list_forever() {
  for (;;) {
    if (!again_) co_await notified_.wait_for(services_.loop, poll_ms);
    again_ = false;
    co_await claim();
  }
}

Task<void> ListingJob::claim() {
  while (listings_.size() < listings_max) {
    std::string listing_id = make_id();
    postgres::Batch batch;
    batch.add(query::McpListingClaim{.listing_id = listing_id,
                                     .claim_seconds = claim_seconds,
                                     .full_orgs = turns_.passed_over()});
    postgres::BatchOutcome outcome = co_await services_.db.attempt(std::move(batch));
    if (outcome.error) co_return;
    if (outcome.results.at(0).empty()) {
      if (!turns_.begin_round()) co_return;
      continue;
    }
    listings_.add(listing_id, list(listing_id, std::move(outcome.results.at(0))));
  }
}

Task<void> ListingJob::list(std::string listing_id, postgres::Result claimed) {
  postgres::Row row = claimed.front();
  bool is_org_scope = row.boolean("is_org_scope");
  OrgTurns::Slot slot(turns_, std::string(is_org_scope ? row.text("org_id") : platform_org),
                      std::string(row.text("created_by")));
  SessionAsk ask;
  ask.credential.server_id = row.text("server_id");
  ask.credential.url = row.text("url");
  ask.credential.org_id = row.text("org_id");
  ask.credential.is_listing = true;
  ask.is_org_scope = is_org_scope;
  ask.limit_ms = request_limit_ms;
  CredentialAsk credential = ask.credential;
  Task<std::string> listing = list_tools(services_, std::move(ask));
  std::optional<std::string> listed =
      co_await loop::with_timeout(services_.loop, std::move(listing), listing_limit_ms);
  std::string outcome =
      listed.value_or(R"({"error":{"code":"tool.timeout",)"
                      R"("message":"The server's tools were not listed in time."}})");
  bool is_listed = !outcome.starts_with(R"({"error":)");
  postgres::BoundStatement storing = query::McpListingStore{
      .server_id = credential.server_id, .listing_id = listing_id, .outcome = std::move(outcome)};
  co_await ask_postgres(services_, std::move(storing));
  look();
  if (!is_listed) co_return;
  // Behind the listing, which waits for nothing that the server may not have.
  ServerCredentials credentials(services_);
  Task<std::string> looking = credentials.look_ahead(std::move(credential));
  co_await loop::with_timeout(services_.loop, std::move(looking), request_limit_ms);
}

}  // namespace hostler::runner
