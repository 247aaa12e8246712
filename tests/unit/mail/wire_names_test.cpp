// Names as mail servers get them, lib/mail/wire_names.h and lib/host_name.h.
#include "lib/mail/wire_names.h"

#include <gtest/gtest.h>

#include "lib/host_name.h"
#include "lib/mail_address.h"

namespace hostler::mail {
namespace {

TEST(WireNames, HaveDomainsAsALabels) {
  EXPECT_EQ(wire_address("ada@bücher.example"), "ada@xn--bcher-kva.example");
  EXPECT_EQ(wire_address("ada@BÜCHER.example"), "ada@xn--bcher-kva.example");
  EXPECT_EQ(wire_address("用户@straße.example"), "用户@xn--strae-oqa.example");
  EXPECT_EQ(wire_address("Ada@Example.ORG"), "Ada@Example.ORG");
  EXPECT_FALSE(wire_address("ada"));
  EXPECT_FALSE(wire_address("ada@\xff"));
}

TEST(WireNames, GreetWithTheSettingOrTheSite) {
  EXPECT_EQ(greeting_name("mx.example.org", "https://hostler.example"), "mx.example.org");
  EXPECT_EQ(greeting_name("", "https://hostler.example/x"), "hostler.example");
  EXPECT_EQ(greeting_name("", "https://hostler.example:8443"), "hostler.example");
  EXPECT_EQ(greeting_name("bücher.example", ""), "xn--bcher-kva.example");
  EXPECT_EQ(greeting_name("192.0.2.1", ""), "[192.0.2.1]");
  EXPECT_EQ(greeting_name("", "https://[2001:db8::1]:8443"), "[IPv6:2001:db8::1]");
  EXPECT_EQ(greeting_name("", ""), "");
}

TEST(HostName, TakesNamesAndAddressesAlone) {
  for (const char* good :
       {"mail.example.org", "localhost", "mail_1", "bücher.example", "192.0.2.1", "2001:db8::1"}) {
    EXPECT_TRUE(has_host_form(good)) << good;
  }
  for (const char* bad : {"", "a b", "a:25", "[::1]", "a/b", "a\r\nb", "::1:x", "a@b", "\xff"}) {
    EXPECT_FALSE(has_host_form(bad)) << bad;
  }
}

TEST(MailAddress, NeedsSmtputf8ForItsLocalPartAlone) {
  EXPECT_TRUE(local_part_needs_smtputf8("用户@example.org"));
  EXPECT_FALSE(local_part_needs_smtputf8("ada@bücher.example"));
  EXPECT_FALSE(local_part_needs_smtputf8("ada@example.org"));
}

}  // namespace
}  // namespace hostler::mail
