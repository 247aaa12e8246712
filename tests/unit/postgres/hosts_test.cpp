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

// One of three that swallows packets: whichever of the others leads is asked before it.
TEST(HostOrder, PutsWhomNobodyCanWaitForLast) {
  postgres::HostOrder order("postgresql://a:1,b:2,c:3/x");
  order.put_last("c", "3");
  EXPECT_EQ(shown(order), "") << "as it stood";
  order.put_last("a", "1");
  EXPECT_EQ(shown(order), "host=b,c,a port=2,3,1");
  order.put_last("a", "1");
  EXPECT_EQ(shown(order), "host=b,c,a port=2,3,1") << "again and again";
  order.put_last("b", "2");
  EXPECT_EQ(shown(order), "host=c,a,b port=3,1,2");
  order.put_last("b", "9");
  EXPECT_EQ(shown(order), "") << "none of them: the next one begins";
  postgres::HostOrder clones("postgresql://a:1,a:2/x");
  clones.put_last("a", "1");
  EXPECT_EQ(shown(clones), "host=a,a port=2,1");
  postgres::HostOrder addresses("hostaddr=10.0.0.1,10.0.0.2,10.0.0.3");
  addresses.put_last("10.0.0.2", "5432");
  EXPECT_EQ(shown(addresses), "hostaddr=10.0.0.3,10.0.0.1,10.0.0.2");
}

TEST(HostOrder, TellsOfEachHostAlone) {
  auto one = [](const char* conninfo, size_t index) {
    std::string text;
    for (const auto& [name, value] : postgres::HostOrder(conninfo).words_of_one(index)) {
      text += (text.empty() ? "" : " ") + std::string(name) + "=" + value;
    }
    return text;
  };
  EXPECT_EQ(postgres::HostOrder("postgresql://a:1,b:2/x").count(), 2U);
  EXPECT_EQ(one("postgresql://a:1,b:2/x", 0), "host=a port=1");
  EXPECT_EQ(one("postgresql://a:1,b:2/x", 1), "host=b port=2");
  EXPECT_EQ(one("host=a,b port=5433", 1), "host=b port=5433");
  EXPECT_EQ(one("hostaddr=10.0.0.1,10.0.0.2", 1), "hostaddr=10.0.0.2");
  EXPECT_EQ(postgres::HostOrder("postgresql:///x").count(), 0U);
}

TEST(HostOrder, OneHostAndNonsenseStayAsTheyAre) {
  for (const char* conninfo : {"postgresql:///hostler", "host=a", "postgresql://a:1/x", "=", ""}) {
    postgres::HostOrder order(conninfo);
    order.turn();
    EXPECT_EQ(shown(order), "") << conninfo;
  }
}

TEST(ConninfoFault, TellsWhatIsWrongAndNoPassword) {
  for (const char* conninfo : {"", "hostler", "postgresql://", "postgresql:///hostler", "dbname=d",
                               "postgresql://u:50%25off@a:1,b:2/d?connect_timeout=3"}) {
    EXPECT_EQ(postgres::conninfo_fault(conninfo), "") << conninfo;
  }
  EXPECT_EQ(postgres::conninfo_fault("postgresql://u:50%off@h/d"),
            "invalid percent-encoded token: \"…\"");
  for (const char* conninfo : {"postgresql://u:hush%@h/d", "host=h password='hush",
                               "host=h password=a hush", "postgresql://h/d?hush=1", "host=h hush=1",
                               "postgresql://u:p@[::1/hush", "postgresql://u:h@h/d?x=hush%zz"}) {
    std::string fault = postgres::conninfo_fault(conninfo);
    EXPECT_NE(fault, "") << conninfo;
    EXPECT_EQ(fault.find("hush"), std::string::npos) << fault;
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
