// The order in which the hosts of a connection string are tried.
#include "lib/postgres/hosts.h"

#include <gtest/gtest.h>

namespace hostler {
namespace {

std::string shown(const postgres::HostOrder& order) {
  std::string text;
  for (const postgres::HostOrder::Word& word : order.words()) {
    text += (text.empty() ? "" : " ") + std::string(word.name) + "=" + word.value;
  }
  return text;
}

TEST(HostOrder, EveryHostHasItsTurnToBeTheFirst) {
  postgres::HostOrder order(
      "postgresql://hostler_api@a:1,b:2,c:3/hostler?target_session_attrs=read-write");
  EXPECT_EQ(shown(order), "") << "as the string says";
  order.turn();
  EXPECT_EQ(shown(order), "host=b,c,a port=2,3,1");
  order.turn();
  EXPECT_EQ(shown(order), "host=c,a,b port=3,1,2");
  order.turn();
  EXPECT_EQ(shown(order), "");
}

TEST(HostOrder, OnePortServesAllHosts) {
  postgres::HostOrder order("host=a,b port=5433 dbname=hostler");
  order.turn();
  EXPECT_EQ(shown(order), "host=b,a");
}

TEST(HostOrder, OneHostAndNonsenseStayAsTheyAre) {
  for (const char* conninfo : {"postgresql:///hostler", "host=a", "postgresql://a:1/x", "=", ""}) {
    postgres::HostOrder order(conninfo);
    order.turn();
    EXPECT_EQ(shown(order), "") << conninfo;
  }
}

TEST(HostOrder, KnowsWhetherAHostIsReachedOverTheNetwork) {
  for (const char* conninfo :
       {"postgresql://db.example.org/hostler", "host=10.0.0.1 dbname=x", "hostaddr=::1",
        "postgresql:///x?host=/run/postgresql,db.example.org", "host=localhost"}) {
    EXPECT_TRUE(postgres::HostOrder(conninfo).names_tcp_host()) << conninfo;
  }
  for (const char* conninfo : {"postgresql:///hostler", "host=/run/postgresql port=5433",
                               "port=5433", "host=@abstract", "=", ""}) {
    EXPECT_FALSE(postgres::HostOrder(conninfo).names_tcp_host()) << conninfo;
  }
}

}  // namespace
}  // namespace hostler
