// Counters, gauges and histograms of one program, in memory that its forked workers share: one slab
// a writer, so that writers never meet, added up when they are read. The table of metrics is the
// program's (fcgi/http/api_metrics.h); reading is Prometheus text, version 0.0.4.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hostler {

enum class MetricType { counter, gauge, histogram };

struct MetricRow {
  MetricType type;
  // With its unit last. One that ends in _seconds or _seconds_total is counted in microseconds.
  std::string_view name;
  std::string_view help;
  // The labels of each series, as Prometheus writes them: route="GET /v1/runs",status="2xx". One
  // empty text: a series without labels.
  std::vector<std::string> series;
  // Registers a counter with labels before it counts, so that increase() sees the first event.
  bool begins_at_zero = false;
};

// Upper bounds of a histogram's buckets, in microseconds; a last one takes the rest.
inline constexpr std::array<int64_t, 16> metric_buckets_us{
    250,     500,     1'000,   2'500,     5'000,     10'000,     25'000,     50'000,
    100'000, 250'000, 500'000, 1'000'000, 2'500'000, 10'000'000, 30'000'000, 120'000'000};

class Metrics;

// Where one process counts. A value, cheap to copy; the Metrics it came from stays mapped.
class MetricsWriter {
 public:
  // row and series are indexes into the table; their bounds are asserted.
  void count(size_t row, size_t series = 0, int64_t by = 1) const;
  void set(size_t row, size_t series, int64_t value) const;
  void observe_us(size_t row, size_t series, int64_t duration_us) const;

 private:
  friend class Metrics;
  MetricsWriter(const Metrics& metrics, std::atomic<int64_t>* slab)
      : metrics_(&metrics), slab_(slab) {}
  const Metrics* metrics_;
  std::atomic<int64_t>* slab_;
};

class Metrics {
 public:
  // writers: how many processes count. Throws internal_error when there is no memory.
  Metrics(std::vector<MetricRow> rows, int writers);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  MetricsWriter writer(int number) const;
  // Before a new process takes the writer: what the last one gauged is no longer so.
  void clear_gauges(int writer_number) const;

  // All writers together. Counters with labels that never counted are left out,
  // unless they begin at zero.
  std::string prometheus_text() const;

 private:
  friend class MetricsWriter;
  size_t slot_index(size_t row, size_t series) const;
  int64_t sum(size_t slot) const;
  std::string line(const MetricRow& row, std::string_view suffix, std::string_view labels,
                   std::string_view value) const;
  void write_histogram(size_t row, size_t series, std::string& out) const;

  std::vector<MetricRow> rows_;
  std::vector<size_t> first_slots_;  // of each row
  size_t slot_count_ = 0;
  int writers_;
  std::atomic<int64_t>* slots_ = nullptr;  // writers_ slabs of slot_count_
};

}  // namespace hostler
