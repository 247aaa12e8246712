// See runner/notifications.h.
#include "runner/notifications.h"

#include <utility>
#include <vector>

#include "lib/loop/wait.h"
#include "queries/daemon.h"

namespace hostler::runner {
namespace {

// The connection is asked every check_ms and must answer so soon. Together less than a poll's
// second: notifications that get lost in silence cost no more than a poll.
constexpr int64_t check_ms = 250;
constexpr int64_t silence_max_ms = 600;

// A LISTEN that the server itself gave up would leave a connection that hears nothing: its patience
// stays longer than ours.
postgres::DatabaseOptions impatient(postgres::DatabaseOptions options) {
  options.answer_timeout_ms = silence_max_ms;
  options.pipelined_timeout_ms = 0;
  return options;
}

}  // namespace

Notifications::Notifications(loop::Loop& loop, postgres::DatabaseOptions options)
    : loop_(loop), db_(loop, impatient(std::move(options))) {}

void Notifications::on(std::string channel, Action action) {
  actions_.emplace(std::move(channel), std::move(action));
}

void Notifications::listen(std::function<void()> on_listening) {
  std::vector<std::string> channels;
  for (const auto& [channel, action] : actions_) channels.push_back(channel);
  auto on_notify = [this](std::string_view channel, std::string_view payload) {
    auto found = actions_.find(std::string(channel));
    if (found != actions_.end()) found->second(payload);
  };
  db_.listen(std::move(channels), on_notify, std::move(on_listening));
}

// A connection that only LISTENs may be dead for hours before anybody knows.
Task<void> Notifications::check_forever(std::function<void(bool is_listening)> on_checked) {
  for (;;) {
    on_checked(db_.connected());
    if (db_.connected()) {
      postgres::Batch question;
      question.add(query::ListeningCheck{});
      postgres::BatchOutcome outcome = co_await db_.attempt_pipelined(std::move(question));
      if (outcome.error) on_checked(false);
    }
    co_await loop::sleep_ms(loop_, check_ms);
  }
}

}  // namespace hostler::runner
