// Token counts of providers for input that was estimated by its bytes, learned for each model.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace hostler::runner {

class InputEstimates {
 public:
  // The tokens that a model's provider may count: the estimate times the learned ratio, with a
  // margin.
  int64_t expected_tokens(const std::string& model, int64_t estimated) const {
    auto found = ratios_.find(model);
    double ratio = found == ratios_.end() ? 1.0 : std::max(found->second, 1.0);
    return static_cast<int64_t>(std::ceil(static_cast<double>(estimated) * ratio * margin)) +
           margin_tokens;
  }

  // A count above all before is believed at once, since it is money; one below it little by little.
  void learn(const std::string& model, int64_t estimated, int64_t counted) {
    if (estimated <= 0 || counted <= 0) return;
    estimated_tokens_ += estimated;
    counted_tokens_ += std::min(counted, estimated * static_cast<int64_t>(ratio_max));
    // With little input the provider's own words are the larger part.
    double ratio = std::min(static_cast<double>(std::max<int64_t>(counted - margin_tokens, 1)) /
                                static_cast<double>(estimated),
                            ratio_max);
    if (ratios_.size() >= models_max && !ratios_.contains(model)) ratios_.clear();
    double& known = ratios_.try_emplace(model, ratio).first->second;
    known = ratio > known ? ratio : known * 0.9 + ratio * 0.1;
  }

  // Whether a count is so far above what was expected that an operator should know, which is the
  // case once for a model. The metric shows all of them.
  bool is_news(const std::string& model, int64_t expected, int64_t counted) {
    bool is_much = static_cast<double>(counted) > news_factor * static_cast<double>(expected) &&
                   counted - expected >= news_tokens;
    if (!is_much) return false;
    if (reported_.size() >= models_max && !reported_.contains(model)) reported_.clear();
    return reported_.insert(model).second;
  }

  // All that was counted, as a share of what was estimated, in millionths.
  int64_t ratio_millionths() const {
    if (estimated_tokens_ == 0) return 1'000'000;
    return static_cast<int64_t>(1e6 * static_cast<double>(counted_tokens_) /
                                static_cast<double>(estimated_tokens_));
  }

 private:
  // Providers count tokens in ways that bytes do not tell.
  static constexpr double margin = 1.1;
  static constexpr int64_t margin_tokens = 16;
  // A count beyond it says nothing of bytes, and must not stop the runs of others.
  static constexpr double ratio_max = 16;
  // Below them the excess of a turn hardly counts.
  static constexpr double news_factor = 1.5;
  static constexpr int64_t news_tokens = 100;
  // Names are the organizations' own.
  static constexpr size_t models_max = 10'000;

  std::map<std::string, double> ratios_;  // counted to estimated
  std::set<std::string> reported_;
  int64_t estimated_tokens_ = 0;
  int64_t counted_tokens_ = 0;
};

}  // namespace hostler::runner
