// See lib/config/stored_settings.h.
#include "lib/config/stored_settings.h"

#include <string_view>
#include <utility>

#include "lib/log.h"
#include "queries/settings.h"

namespace hostler::config {
namespace {

constexpr int64_t retry_ms = 1000;
constexpr const char* reading = "settings";

void log_failure(const std::string&, const std::exception_ptr& failure) {
  log_error("settings_not_read", {{"cause", loop::cause_of(failure)}});
}

}  // namespace

StoredSettings::StoredSettings(loop::Loop& loop, postgres::Database& db, const Settings& start,
                               const SecretBox& secrets,
                               std::function<void(const Settings&)> on_read)
    : loop_(loop),
      db_(db),
      secrets_(secrets),
      on_read_(std::move(on_read)),
      live_(start),
      tasks_(loop, log_failure) {}

void StoredSettings::listen() {
  db_.listen(
      {channel}, [this](std::string_view, std::string_view) { reload(); }, [this] { reload(); });
}

void StoredSettings::reload() {
  tasks_.erase(reading);  // what it reads may be older than the change
  tasks_.add(reading, read_until_it_succeeds());
}

// Earlier ones would stay for ever.
Task<void> StoredSettings::read_until_it_succeeds() {
  for (;;) {
    bool is_done = co_await read();
    if (is_done) co_return;
    co_await loop::sleep_ms(loop_, retry_ms);
  }
}

Task<bool> StoredSettings::read() {
  postgres::Batch batch;
  batch.add(query::SettingsAll{});
  postgres::BatchOutcome outcome = co_await db_.attempt_pipelined(std::move(batch));
  if (outcome.error) {
    // While Postgres is away the connection tells. Else the schema is older than this program, most
    // likely, and about to be migrated.
    if (db_.connected()) log_error("settings_not_read", {{"cause", outcome.error->cause}});
    co_return false;
  }
  live_.apply(outcome.results.at(0), secrets_);
  on_read_(*live_.current());
  are_read_ = true;
  read_.notify();
  co_return true;
}

Task<bool> StoredSettings::until_read(int64_t limit_ms) {
  int64_t due_ms = loop_.now_ms() + limit_ms;
  while (!are_read_ && loop_.now_ms() < due_ms) {
    co_await read_.wait_for(loop_, due_ms - loop_.now_ms());
  }
  co_return are_read_;
}

}  // namespace hostler::config
