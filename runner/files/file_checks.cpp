// See runner/files/file_checks.h.
#include "runner/files/file_checks.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "lib/log.h"
#include "lib/postgres/with_retry.h"
#include "queries/files.h"

namespace hostler::runner {
namespace {

using Kind = files::CheckOutcome::Kind;

constexpr int64_t poll_ms = 1000;
constexpr const char* no_id = "00000000-0000-0000-0000-000000000000";
// Longer than the sandbox lets a process live, shorter than the minute after which a file is due
// again (file_check_claim).
constexpr int64_t check_limit_ms = 30'000;
constexpr int64_t away_pause_ms = 2'000;
// A process may die for want of memory of the host: what fails twice is the file's fault.
constexpr int64_t checks_of_file_max = 2;

size_t checks_at_once(const config::Settings& start) {
  int64_t set = start.integer("files.checks");
  return set > 0 ? static_cast<size_t>(set)
                 : std::max<size_t>(std::thread::hardware_concurrency(), 1);
}

void log_check_failure(const std::string& name, std::exception_ptr failure) {
  log_error("file_check_failed", {{"file_id", name}, {"cause", loop::cause_of(failure)}});
}

}  // namespace

FileChecks::FileChecks(loop::Loop& loop, postgres::Database& db, const config::Settings& start)
    : loop_(loop),
      db_(db),
      socket_(start.text("files.socket")),
      checks_max_(checks_at_once(start)),
      after_org_(no_id),
      after_user_(no_id),
      checks_(loop, log_check_failure) {}

void FileChecks::look() {
  again_ = true;
  notified_.notify();
}

Task<void> FileChecks::check_forever() {
  for (;;) {
    if (!again_) co_await notified_.wait_for(loop_, poll_ms);
    again_ = false;
    co_await claim();
  }
}

Task<void> FileChecks::claim() {
  while (checks_.size() < checks_max_) {
    postgres::Batch batch;
    batch.add(query::FileCheckClaim{.after_org_id = after_org_, .after_user_id = after_user_});
    postgres::BatchOutcome outcome = co_await db_.attempt(std::move(batch));
    if (outcome.error) co_return;
    if (outcome.results.at(0).empty()) {
      // The last creator was served: a new round, or nobody waits.
      if (after_org_ == no_id) co_return;
      after_org_ = after_user_ = no_id;
      continue;
    }
    postgres::Row row = outcome.results.at(0).front();
    Claimed file{std::string(row.text("id")), std::string(row.text("mime_type")),
                 row.integer("bytes"), row.integer("checks")};
    after_org_ = row.text("org_id");
    after_user_ = row.text("user_id");
    checks_.add(file.file_id, check(file));
  }
}

Task<std::string> FileChecks::next_piece(const Claimed& file, int64_t& nth) {
  postgres::BoundStatement reading = query::FileCheckPiece{.file_id = file.file_id, .nth = ++nth};
  postgres::Result read = co_await postgres::dedicated_with_retry(loop_, db_, std::move(reading));
  co_return read.empty() ? std::string() : read.front().bytes("content");
}

Task<void> FileChecks::check(Claimed file) {
  int64_t nth = 0;
  files::NextBytes next = [this, &file, &nth] { return next_piece(file, nth); };
  files::CheckRequest request{files::CheckRequest::Kind::image, file.bytes, file.mime_type};
  Task<files::CheckOutcome> checking =
      files::check_file(loop_, socket_, std::move(request), next, check_limit_ms);
  files::CheckOutcome outcome = co_await checking;
  postgres::BoundStatement storing = outcome_statement(file, std::move(outcome));
  co_await postgres::dedicated_with_retry(loop_, db_, std::move(storing));
  look();
}

// Decides what happens to the file. A file that is gone is not found by its statement.
postgres::BoundStatement FileChecks::outcome_statement(const Claimed& file,
                                                       files::CheckOutcome outcome) {
  bool is_away = outcome.kind == Kind::away;
  if (is_away && !is_away_logged_) {
    log_warning("files_unchecked", {{"socket", socket_}, {"cause", "nobody answers there"}});
  }
  is_away_logged_ = is_away;
  if (is_away) {
    return query::FileCheckPostpone{
        .file_id = file.file_id, .check_number = file.number, .pause_ms = away_pause_ms};
  }
  bool is_image =
      outcome.kind == Kind::answered && outcome.answer.kind == files::CheckAnswer::Kind::image;
  if (is_image) {
    return query::FileCheckFinish{.file_id = file.file_id,
                                  .check_number = file.number,
                                  .width = outcome.answer.width,
                                  .height = outcome.answer.height,
                                  .mime_type = outcome.answer.mime_type,
                                  .image = std::move(outcome.derived)};
  }
  bool may_be_ours = outcome.kind == Kind::broken && file.number < checks_of_file_max;
  if (may_be_ours)
    return query::FileCheckAgain{.file_id = file.file_id, .check_number = file.number};
  log_info("file_refused", {{"file_id", file.file_id},
                            {"mime_type", file.mime_type},
                            {"reason", outcome.answer.reason}});
  return query::FileCheckRefuse{
      .file_id = file.file_id, .check_number = file.number, .code = "files.unreadable"};
}

}  // namespace hostler::runner
