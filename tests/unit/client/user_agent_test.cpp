// Classes of user agents, and the table of risk signals that the document repeats.
#include "lib/client/user_agent.h"

#include <gtest/gtest.h>

#include "lib/client/risk.h"

namespace hostler {
namespace {

TEST(UserAgent, IsToldByWhatItSaysOfItself) {
  auto name = [](std::string_view text) {
    return client::user_agent_class_name(client::user_agent_class(text));
  };
  EXPECT_EQ(name("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"),
            "browser");
  EXPECT_EQ(name("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) "
                 "Chrome/126.0 Safari/537.36"),
            "browser");
  EXPECT_EQ(name("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"),
            "bot");
  EXPECT_EQ(name("Mozilla/5.0 (compatible; Yahoo! Slurp)"), "bot");
  EXPECT_EQ(name("SomeSpider/1.0"), "bot");
  EXPECT_EQ(name("curl/7.88.1"), "tool");
  EXPECT_EQ(name("python-requests/2.31"), "tool");
  EXPECT_EQ(name("Go-http-client/2.0"), "tool");
  EXPECT_EQ(name(""), "unknown");
  EXPECT_EQ(name("something else"), "unknown");
  EXPECT_EQ(name(std::string(600, 'x') + "bot"), "unknown") << "the end of a long one is not read";
}

TEST(RiskScore, IsTheSumOfItsSignals) {
  EXPECT_EQ(client::risk_score({"Mozilla/5.0", true, false}), 0.0);
  EXPECT_EQ(client::risk_score({"Mozilla/5.0", false, false}), 0.2);
  EXPECT_EQ(client::risk_score({"", true, false}), 0.4);
  EXPECT_EQ(client::risk_score({"Googlebot/2.1", false, false}), 0.6);
  EXPECT_EQ(client::risk_score({"Mozilla/5.0", true, true}), 0.6);
  EXPECT_EQ(client::risk_score({"", false, true}), 1.0);
}

}  // namespace
}  // namespace hostler
