// See lib/loop/stored_settings.h.
#include "lib/loop/stored_settings.h"

#include <optional>
#include <utility>

#include "lib/log.h"

namespace hostler {
namespace {

constexpr int64_t wait_ms = 2500;
constexpr int64_t retry_ms = 1000;
constexpr const char* task_name = "settings";

}  // namespace

StoredSettings::StoredSettings(Loop& loop, Database& database, const Statement& read,
                               const Settings& configured, const SecretBox& secret_box,
                               std::function<void()> on_change)
    : loop_(loop),
      database_(database),
      read_(read),
      secret_box_(secret_box),
      on_change_(std::move(on_change)),
      live_(configured),
      again_(loop, [this] { begin_reading(); }),
      reading_(loop, [this](const std::string&, const std::exception_ptr& failure) {
        // While Postgres is away the connection tells. Else the schema is older than this program,
        // most likely, and about to be migrated.
        if (database_.connected()) log_error("settings_not_read", {{"cause", cause_of(failure)}});
        again_.restart(retry_ms);
      }) {
  auto reload = [this] { begin_reading(); };
  database_.listen(
      {"hostler_settings"}, [reload](std::string_view, std::string_view) { reload(); }, reload);
}

void StoredSettings::begin_reading() {
  reading_.erase(task_name);  // what it reads may be older than the change
  reading_.add(task_name, read_all());
}

Task<void> StoredSettings::read_all() {
  Result stored = co_await database_.quick(read_);
  live_.apply(stored, secret_box_);
  are_read_ = true;
  on_change_();
  were_read_.notify();
}

Task<bool> StoredSettings::next_reading() {
  co_await were_read_.wait();
  co_return true;
}

Task<void> StoredSettings::until_read() {
  if (are_read_) co_return;
  Task<bool> next = next_reading();
  std::optional<bool> read = co_await with_timeout(loop_, std::move(next), wait_ms);
  if (read) co_return;
  Error error(ErrorCode::database_unavailable, "Try again in a moment.", "settings were not read");
  error.retry_after_s = 1;
  throw error;
}

}  // namespace hostler
