// Tests what tenants may store as an address, when its name is looked up slowly or not at all.
#include "fcgi/http/address_check.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "tests/support/peers/fake_names.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::FakeNames;
using testing_support::run_task;

class AddressCheck : public testing::Test {
 protected:
  bool is_denied(const std::string& url) {
    return run_task(loop_, is_denied_to_tenants(loop_, settings_, *http::parse_http_url(url)));
  }

  loop::Loop loop_;
  config::Settings settings_;
};

// A call with an Idempotency-Key holds a connection to Postgres meanwhile.
TEST_F(AddressCheck, WaitsHalfASecondForANameThatIsNotAnswered) {
  std::atomic<bool> may_answer{false};
  std::atomic<int> asked{0};
  FakeNames names([&](const std::string&) {
    ++asked;
    may_answer.wait(false);
    return std::vector<std::string>{"127.0.0.1"};
  });
  auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(is_denied("https://slow.fake-names.test/")) << "it is checked when it is dialled";
  EXPECT_TRUE(is_denied("https://slow.fake-names.test:5432/")) << "for its port";
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  EXPECT_LT(took.count(), 2 * 0.9);
  EXPECT_EQ(asked, 2) << "both were still under way";
  may_answer = true;
  may_answer.notify_all();
}

TEST_F(AddressCheck, DeniesANameThatLeadsInside) {
  FakeNames names([](const std::string& name) {
    return name.starts_with("both") ? std::vector<std::string>{"127.0.0.1", "8.8.8.8"}
                                    : std::vector<std::string>{"127.0.0.1", "10.0.0.1"};
  });
  EXPECT_TRUE(is_denied("https://inside.fake-names.test/"));
  EXPECT_FALSE(is_denied("https://both.fake-names.test/")) << "one of them may be dialled";
}

}  // namespace
}  // namespace hostler
