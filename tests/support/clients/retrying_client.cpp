// See tests/support/clients/retrying_client.h.
#include "tests/support/clients/retrying_client.h"

#include "lib/error.h"

namespace hostler::testing_support {

RetryingClient::RetryingClient(FaultyProxy& line, const std::string& url,
                               std::function<Fate()> next_fate)
    : proxy_(line),
      url_(postgres::conninfo_with(url, {{"host", line.folder()}})),
      next_fate_(std::move(next_fate)) {
  connect();
}

void RetryingClient::connect() {
  session_.emplace(url_, "retrying caller");
  session_->run_text("SET synchronous_commit = off");
}

bool RetryingClient::commit(const std::function<bool(bool is_repeat)>& work) {
  bool is_committed = false;
  Fate fate = next_fate_();
  while (true) {
    if (fate == Fate::cut_before) {
      proxy_.arm({FaultKind::cut, LineEnd::client, commit_request()});
    } else if (fate == Fate::cut_after) {
      proxy_.arm({FaultKind::cut, LineEnd::server, committed_answer()});
    }
    try {
      session_->begin();
      bool is_kept = work(is_committed);
      if (!is_kept) proxy_.disarm();
      is_kept ? session_->commit() : session_->rollback();
      return is_kept;
    } catch (const Error& error) {
      proxy_.disarm();
      if (error.code == ErrorCode::database_unavailable) {
        ++(fate == Fate::cut_after ? cuts_after_ : cuts_before_);
        is_committed = is_committed || fate == Fate::cut_after;
        fate = Fate::answered;
        connect();
        continue;
      }
      session_->rollback();
      // The server has not seen yet that the connection before is gone.
      if (error.code != ErrorCode::idempotency_in_progress) throw;
    }
  }
}

}  // namespace hostler::testing_support
