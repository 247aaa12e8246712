// Metrics counted and written; see lib/metrics.h.
#include "lib/metrics.h"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <new>

#include <fmt/format.h>

#include "lib/error.h"

namespace hostler {
namespace {

// Cells of a histogram: the buckets, the one above all bounds, and the sum of the observed values.
constexpr size_t histogram_slots = metric_buckets_us.size() + 2;
constexpr size_t sum_slot = histogram_slots - 1;

size_t slots_of(const MetricRow& row) {
  return row.series.size() * (row.type == MetricType::histogram ? histogram_slots : 1);
}

std::string_view type_name(MetricType type) {
  switch (type) {
    case MetricType::counter:
      return "counter";
    case MetricType::gauge:
      return "gauge";
    case MetricType::histogram:
      return "histogram";
  }
  return "untyped";
}

std::string seconds(int64_t microseconds) {
  return fmt::format("{}", static_cast<double>(microseconds) / 1e6);
}

std::string value_text(const MetricRow& row, int64_t value) {
  // Both are kept in millionths.
  bool is_time = row.name.ends_with("_seconds") || row.name.ends_with("_seconds_total");
  bool is_ratio = row.name.ends_with("_ratio");
  return is_time || is_ratio ? seconds(value) : std::to_string(value);
}

size_t slab_bytes(size_t slot_count, int writers) {
  return slot_count * static_cast<size_t>(writers) * sizeof(std::atomic<int64_t>);
}

}  // namespace

static_assert(std::atomic<int64_t>::is_always_lock_free,
              "a lock in shared memory could be left held");

Metrics::Metrics(std::vector<MetricRow> rows, int writers)
    : rows_(std::move(rows)), writers_(writers) {
  for (const MetricRow& row : rows_) {
    first_slots_.push_back(slot_count_);
    slot_count_ += slots_of(row);
  }
  void* memory = mmap(nullptr, slab_bytes(slot_count_, writers_), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error(ErrorCode::internal_error, {}, "no memory for metrics");
  slots_ = static_cast<std::atomic<int64_t>*>(memory);
  // New pages are zero; this only begins the lifetime of the atomics.
  std::uninitialized_value_construct_n(slots_, slot_count_ * static_cast<size_t>(writers_));
}

Metrics::~Metrics() { munmap(static_cast<void*>(slots_), slab_bytes(slot_count_, writers_)); }

MetricsWriter Metrics::writer(int number) const {
  assert(number >= 0 && number < writers_);
  return MetricsWriter(*this, slots_ + slot_count_ * static_cast<size_t>(number));
}

size_t Metrics::slot_index(size_t row, size_t series) const {
  assert(row < rows_.size() && series < rows_[row].series.size());
  return first_slots_[row] + series * slots_of(rows_[row]) / rows_[row].series.size();
}

void MetricsWriter::count(size_t row, size_t series, int64_t by) const {
  slab_[metrics_->slot_index(row, series)].fetch_add(by, std::memory_order_relaxed);
}

void MetricsWriter::set(size_t row, size_t series, int64_t value) const {
  slab_[metrics_->slot_index(row, series)].store(value, std::memory_order_relaxed);
}

void MetricsWriter::observe_us(size_t row, size_t series, int64_t duration_us) const {
  std::atomic<int64_t>* slots = slab_ + metrics_->slot_index(row, series);
  auto bucket = std::lower_bound(metric_buckets_us.begin(), metric_buckets_us.end(), duration_us);
  slots[bucket - metric_buckets_us.begin()].fetch_add(1, std::memory_order_relaxed);
  slots[sum_slot].fetch_add(duration_us, std::memory_order_relaxed);
}

void Metrics::clear_gauges(int writer_number) const {
  MetricsWriter cleared = writer(writer_number);
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (rows_[row].type != MetricType::gauge) continue;
    for (size_t series = 0; series < rows_[row].series.size(); ++series)
      cleared.set(row, series, 0);
  }
}

int64_t Metrics::sum(size_t slot) const {
  int64_t total = 0;
  for (int writer_number = 0; writer_number < writers_; ++writer_number) {
    total += slots_[slot_count_ * static_cast<size_t>(writer_number) + slot].load(
        std::memory_order_relaxed);
  }
  return total;
}

std::string Metrics::line(const MetricRow& row, std::string_view suffix, std::string_view labels,
                          std::string_view value) const {
  if (labels.empty()) return fmt::format("{}{} {}\n", row.name, suffix, value);
  return fmt::format("{}{}{{{}}} {}\n", row.name, suffix, labels, value);
}

void Metrics::write_histogram(size_t row, size_t series, std::string& out) const {
  size_t first = slot_index(row, series);
  const std::string& labels = rows_[row].series[series];
  const char* comma = labels.empty() ? "" : ",";
  int64_t count = 0;
  std::string lines;
  for (size_t i = 0; i < metric_buckets_us.size(); ++i) {
    count += sum(first + i);
    std::string bucket = fmt::format("{}{}le=\"{}\"", labels, comma, seconds(metric_buckets_us[i]));
    lines += line(rows_[row], "_bucket", bucket, std::to_string(count));
  }
  count += sum(first + metric_buckets_us.size());
  if (count == 0 && !labels.empty()) return;
  std::string total = std::to_string(count);
  lines += line(rows_[row], "_bucket", fmt::format("{}{}le=\"+Inf\"", labels, comma), total);
  lines += line(rows_[row], "_sum", labels, seconds(sum(first + sum_slot)));
  lines += line(rows_[row], "_count", labels, total);
  out += lines;
}

std::string Metrics::prometheus_text() const {
  std::string out;
  for (size_t row = 0; row < rows_.size(); ++row) {
    const MetricRow& metric = rows_[row];
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", metric.name, metric.help, metric.name,
                       type_name(metric.type));
    for (size_t series = 0; series < metric.series.size(); ++series) {
      if (metric.type == MetricType::histogram) {
        write_histogram(row, series, out);
        continue;
      }
      int64_t value = sum(slot_index(row, series));
      bool is_quiet = metric.type == MetricType::counter && !metric.series[series].empty() &&
                      !metric.begins_at_zero;
      if (value == 0 && is_quiet) continue;
      out += line(metric, "", metric.series[series], value_text(metric, value));
    }
  }
  return out;
}

}  // namespace hostler
