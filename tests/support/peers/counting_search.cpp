// See tests/support/peers/counting_search.h.
#include "tests/support/peers/counting_search.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/json.h"
#include "tests/support/eventually.h"

namespace hostler::testing_support {

CountingSearch::CountingSearch(int answer_ms)
    : answer_ms_(answer_ms), server_([this](Peer& peer) { answer_all(peer); }) {}

void CountingSearch::use_for(const TestUser& admin) const {
  std::string provider = "/v1/tool-providers/web_search/web_search.alpha/";
  std::string body =
      fmt::format(R"({{"api_key":"key-0123456789","base_url":"{}"}})", server_.url(""));
  EXPECT_EQ(admin.client.put(provider + "credential", body).status, 204);
  EXPECT_EQ(admin.client.put(provider + "activate", "").status, 204);
}

std::map<std::string, int> CountingSearch::asked() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return asked_;
}

std::string CountingSearch::title(const std::string& query, int n) {
  return fmt::format("{} #{}", query, n);
}

void CountingSearch::answer_all(Peer& peer) {
  for (;;) {
    std::string request = peer.read_request();
    size_t body_at = request.find("\r\n\r\n");
    if (body_at == std::string::npos) return;
    std::optional<Json> body = parse_json_or_nothing(request.substr(body_at + 4));
    std::string query(body ? body->text_or("query") : "");
    int n = 0;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      n = ++asked_[query];
    }
    let_pass(answer_ms_);
    std::string found = fmt::format(
        R"({{"results":[{{"title":"{}","url":"https://example.org/","content":"made up"}}]}})",
        title(query, n));
    if (!peer.answer(found, "Content-Type: application/json\r\n")) return;
  }
}

}  // namespace hostler::testing_support
