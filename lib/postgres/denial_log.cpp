// Gathered, written, sent again; see lib/postgres/denial_log.h.
#include "lib/postgres/denial_log.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/utf8.h"
#include "queries/access.h"

namespace hostler::postgres {
namespace {

// Each takes a lock until the batch is committed, of which Postgres has some thousands for all.
constexpr size_t batch_max = 64;
// Length that the audit log keeps. The target is cut there to as many characters.
constexpr size_t text_bytes_max = 800;

std::string key_of(const Denial& denial) {
  return fmt::format("{}|{}|{}|{}|{}", denial.org_id, denial.user_id, denial.api_key_hash,
                     denial.code, denial.route);
}

}  // namespace

DenialLog::DenialLog(loop::Loop& loop, Database& database, std::function<void(int64_t)> on_dropped,
                     DenialLogOptions options)
    : loop_(loop),
      database_(database),
      on_dropped_(std::move(on_dropped)),
      options_(options),
      writer_id_(to_hex(random_bytes(16))),
      next_(loop, [this] { due_.notify(); }),
      writer_(write_forever()) {
  writer_.start(nullptr);
}

DenialLog::~DenialLog() {
  int64_t unwritten = in_flight_;
  for (const auto& [key, kind] : kinds_) unwritten += kind.count;
  if (unwritten > 0) on_dropped_(unwritten);
  if (unwritten + dropped_ > 0)
    log_warning("denials_lost", {{"count", std::to_string(unwritten + dropped_)}});
}

bool DenialLog::is_written() const {
  return in_flight_ == 0 && dropped_ == 0 &&
         std::all_of(kinds_.begin(), kinds_.end(),
                     [](const auto& entry) { return entry.second.count == 0; });
}

void DenialLog::add(Denial denial) {
  std::string key = key_of(denial);
  auto found = kinds_.find(key);
  if (found == kinds_.end()) {
    if (!make_room()) return drop(1);
    found = kinds_.try_emplace(std::move(key)).first;
  }
  Kind& kind = found->second;
  if (kind.count++ > 0) return;
  denial.target = utf8_prefix(utf8_lossy(denial.target), text_bytes_max);
  denial.user_agent = utf8_prefix(utf8_lossy(denial.user_agent), text_bytes_max);
  kind.first = std::move(denial);
  kind.since_ms = loop_.now_ms();
  next_.restart(0);  // not from within the caller, whose answer comes first
}

// Room for one more kind. What was written long enough ago is forgotten first.
bool DenialLog::make_room() {
  if (kinds_.size() < options_.kinds_max) return true;
  std::erase_if(kinds_, [this](const auto& entry) {
    return entry.second.count == 0 && entry.second.due_ms <= loop_.now_ms();
  });
  return kinds_.size() < options_.kinds_max;
}

// Told to the log once, until the audit log has it.
void DenialLog::drop(int64_t count) {
  if (dropped_ == 0) {
    log_warning("denials_dropped", {{"why", "too many wait to be written"},
                                    {"mend", "check whether Postgres accepts writes"}});
  }
  dropped_ += count;
  on_dropped_(count);
}

void DenialLog::finish(std::function<void()> on_written) {
  is_finishing_ = true;
  on_written_ = std::move(on_written);
  next_.restart(0);
}

// Returns the rows to write now, oldest first. If all are due later, sets the timer of the writer.
std::vector<DenialLog::Sent> DenialLog::take_due() {
  int64_t now_ms = loop_.now_ms();
  int64_t next_ms = std::numeric_limits<int64_t>::max();
  std::vector<Kinds::value_type*> due;
  std::erase_if(kinds_, [&](const auto& entry) {
    return entry.second.count == 0 && entry.second.due_ms <= now_ms;
  });
  // Rows that are due soon are written too. Otherwise each of many kinds would need a commit of its
  // own.
  bool is_any_due = std::any_of(kinds_.begin(), kinds_.end(), [now_ms](const auto& entry) {
    return entry.second.count > 0 && entry.second.due_ms <= now_ms;
  });
  int64_t until_ms = is_any_due ? now_ms + options_.pause_ms / 2 : now_ms;
  for (Kinds::value_type& entry : kinds_) {
    const Kind& kind = entry.second;
    if (kind.count == 0) continue;
    if (is_finishing_ || kind.due_ms <= until_ms) {
      due.push_back(&entry);
    } else {
      next_ms = std::min(next_ms, kind.due_ms);
    }
  }
  if (due.empty() && next_ms != std::numeric_limits<int64_t>::max())
    next_.restart(next_ms - now_ms);
  std::sort(due.begin(), due.end(), [](const auto* one, const auto* other) {
    return std::pair(one->second.failures, one->second.since_ms) <
           std::pair(other->second.failures, other->second.since_ms);
  });
  std::vector<Sent> batch;
  for (Kinds::value_type* entry : due) {
    bool goes_alone = entry->second.failures > 0;
    if (batch.size() == batch_max || (goes_alone && !batch.empty())) break;
    if (!batch.empty() && batch.front().kind.failures > 0) break;
    in_flight_ += entry->second.count;
    batch.push_back({entry->first, std::exchange(entry->second, Kind())});
    entry->second.due_ms = std::numeric_limits<int64_t>::max();  // until it is written
  }
  return batch;
}

Task<void> DenialLog::write_forever() {
  while (true) {
    std::vector<Sent> batch = take_due();
    bool has_updates = !batch.empty() || dropped_ > 0;
    if (has_updates) {
      co_await write(std::move(batch));
      continue;
    }
    if (on_written_ && is_written()) on_written_();
    co_await due_.wait();
  }
}

// Until it is written, or given up. A batch whose answer did not come goes again as it is: the
// function knows its number.
Task<void> DenialLog::write(std::vector<Sent> batch) {
  int64_t dropped = dropped_;
  int64_t since_ms = batch.empty() ? loop_.now_ms() : batch.front().kind.since_ms;
  while (true) {
    Batch statements;
    statements.add(query::AuditDenials{
        .writer_id = writer_id_, .batch = number_, .denials = json_of(batch), .dropped = dropped});
    BatchOutcome outcome = co_await database_.attempt(std::move(statements));
    if (!outcome.error) {
      finish(batch, dropped);
      co_return;
    }
    bool is_old = loop_.now_ms() - since_ms >= options_.kept_ms;
    bool is_refused = !outcome.is_unknown();
    if (is_old && !batch.empty() && !(is_refused && batch.size() > 1)) {
      for (const Sent& sent : batch) drop(sent.kind.count);
      finish(batch, 0);
      co_return;
    }
    if (is_refused) {
      // One of them, most likely: it must not keep the others back.
      log_debug("denials_refused", {{"cause", outcome.error->cause}});
      give_back(std::move(batch));
      co_await loop::sleep_ms(loop_, options_.retry_ms);
      co_return;
    }
    co_await loop::sleep_ms(loop_, options_.retry_ms);
  }
}

// With what was denied meanwhile.
void DenialLog::give_back(std::vector<Sent> batch) {
  in_flight_ = 0;
  for (Sent& sent : batch) {
    Kind& kind = kinds_.at(sent.key);
    sent.kind.count += kind.count;
    ++sent.kind.failures;
    kind = std::move(sent.kind);
  }
}

std::string DenialLog::json_of(const std::vector<Sent>& batch) const {
  JsonWriter json;
  json.begin_array();
  for (const Sent& sent : batch) {
    const Denial& first = sent.kind.first;
    json.begin_object();
    json.member_or_null("org_id", first.org_id);
    json.member_or_null("user_id", first.user_id);
    json.member_or_null("api_key_hash", to_hex(first.api_key_hash));
    json.member("route", first.route).member("code", first.code).member("target", first.target);
    json.member("trace_id", first.trace_id);
    json.member_or_null("client_ip", first.client_ip);
    json.member("user_agent", first.user_agent);
    json.member("count", sent.kind.count).member("age_ms", loop_.now_ms() - sent.kind.since_ms);
    json.end_object();
  }
  json.end_array();
  return json.take();
}

void DenialLog::finish(const std::vector<Sent>& batch, int64_t dropped) {
  ++number_;
  dropped_ -= dropped;
  in_flight_ = 0;
  for (const Sent& sent : batch) {
    kinds_.at(sent.key).due_ms = loop_.now_ms() + options_.pause_ms;
  }
}

}  // namespace hostler::postgres
