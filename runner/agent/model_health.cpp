// See runner/agent/model_health.h.
#include "runner/agent/model_health.h"

#include "queries/fallbacks.h"

namespace hostler::runner {

void ModelHealth::note(const std::string& model_id, const std::string& org_id, Outcome outcome,
                       bool is_probe) {
  int64_t now_ms = loop_.now_ms();
  if (slices_.empty() || now_ms - slices_.back().begun_ms >= slice_ms) {
    slices_.push_back({now_ms, {}});
  }
  std::map<Key, Counts>& counts = slices_.back().counts;
  Key key{model_id, org_id};
  if (counts.size() >= keys_max && !counts.contains(key)) return;
  Counts& counted = counts[key];
  bool has_failed = outcome == Outcome::failed;
  ++counted.attempts;
  counted.failed += has_failed ? 1 : 0;
  counted.newest_failed = has_failed ? counted.newest_failed + 1 : 0;
  if (has_failed || is_probe) urgent_.insert(model_id);
  if (has_failed || is_probe || suspects_.contains(model_id)) noted_.notify();
}

void ModelHealth::drop_old() {
  while (!slices_.empty() && loop_.now_ms() - slices_.front().begun_ms > kept_ms) {
    slices_.pop_front();
  }
}

Task<void> ModelHealth::look_for_suspects() {
  looked_ms_ = loop_.now_ms();
  std::set<std::string> models;
  for (auto slice = slices_.rbegin(); slice != slices_.rend(); ++slice) {
    for (const auto& [key, counts] : slice->counts) {
      if (models.size() < looked_at_max) models.insert(key.first);
    }
  }
  std::vector<std::string> asked(models.begin(), models.end());
  postgres::Batch batch;
  batch.add(query::ModelsSuspected{.model_ids = asked});
  postgres::BatchOutcome outcome = co_await db_.attempt_pipelined(std::move(batch));
  if (outcome.error) co_return;
  suspects_.clear();
  const postgres::Result& rows = outcome.results.at(0);
  for (int i = 0; i < rows.size(); ++i) suspects_.insert(std::string(rows[i].text("id")));
}

postgres::Batch ModelHealth::report_of_suspects() {
  std::vector<std::string> model_ids;
  std::vector<std::string> org_ids;
  std::vector<int64_t> ages_ms;
  std::vector<int64_t> attempts;
  std::vector<int64_t> failed;
  std::vector<int64_t> newest_failed;
  for (Slice& slice : slices_) {
    std::erase_if(slice.counts, [&](const auto& entry) {
      const std::string& model_id = entry.first.first;
      if (!urgent_.contains(model_id) && !suspects_.contains(model_id)) return false;
      model_ids.push_back(model_id);
      org_ids.push_back(entry.first.second);
      ages_ms.push_back(loop_.now_ms() - slice.begun_ms);
      attempts.push_back(entry.second.attempts);
      failed.push_back(entry.second.failed);
      newest_failed.push_back(entry.second.newest_failed);
      return true;
    });
  }
  suspects_.merge(urgent_);
  urgent_.clear();
  postgres::Batch batch;
  if (model_ids.empty()) return batch;
  batch.add(query::ModelAttemptsReport{.model_ids = model_ids,
                                       .org_ids = org_ids,
                                       .ages_ms = ages_ms,
                                       .attempts = attempts,
                                       .failed = failed,
                                       .newest_failed = newest_failed});
  return batch;
}

Task<void> ModelHealth::report_forever() {
  for (;;) {
    if (urgent_.empty()) co_await noted_.wait_for(loop_, look_ms);
    drop_old();
    bool is_due = loop_.now_ms() - looked_ms_ >= look_ms;
    if (is_due && !slices_.empty()) co_await look_for_suspects();
    postgres::Batch report = report_of_suspects();
    if (report.empty()) continue;
    // A report that is lost makes a breaker open later, and nothing else.
    co_await db_.attempt(std::move(report));
  }
}

}  // namespace hostler::runner
