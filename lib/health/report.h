// Findings about an installation: good, doubtful or wrong, with the fix. `hostlerctl doctor` prints
// them and GET /v1/admin/nodes returns them. Only collects findings; looks at nothing itself.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace hostler::health {

enum class Verdict { ok, warning, failure };

constexpr const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "ok";
    case Verdict::warning:
      return "warning";
    case Verdict::failure:
      return "failure";
  }
  return "";
}

struct Finding {
  Verdict verdict;
  std::string what;
  std::string message;
};

class Report {
 public:
  void well(std::string what, std::string message) { add(Verdict::ok, what, message); }
  void warn(std::string what, std::string message) { add(Verdict::warning, what, message); }
  void fault(std::string what, std::string message) { add(Verdict::failure, what, message); }
  const std::vector<Finding>& findings() const { return findings_; }

 private:
  void add(Verdict verdict, std::string& what, std::string& message) {
    findings_.push_back({verdict, std::move(what), std::move(message)});
  }
  std::vector<Finding> findings_;
};

}  // namespace hostler::health
