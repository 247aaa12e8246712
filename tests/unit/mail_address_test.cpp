// What a mail address is, lib/mail_address.h, and that accounts have no others:
// lib/account/account_rules.h.
#include "lib/mail_address.h"

#include <string>

#include <gtest/gtest.h>

#include "lib/account/account_rules.h"

namespace hostler {
namespace {

TEST(MailAddress, IsOneAddressAndNothingElse) {
  for (const std::string good :
       {"a@b", "ada.lovelace+x@example.org", "o'neill@example.org", "用户@example.org"}) {
    EXPECT_TRUE(is_mail_address(good)) << good;
    EXPECT_FALSE(account::email_fault(good)) << good;
  }
  for (const std::string bad :
       {"",          "a",         "@b",     "a@",    "a@b@c",         "a b@c",
        "a@b\r\nx",  "<a@b>",     "a@b,c",  "a,b@c", "a;b@c",         "a:b@c",
        "\"a\"@b",   "\"a b\"@c", "a\\b@c", "(a)@b", "a@[127.0.0.1]", "a@b\x01",
        "a@b\u0085", "a\u202e@b", "a@\xff"}) {
    EXPECT_FALSE(is_mail_address(bad)) << bad;
    ASSERT_TRUE(account::email_fault(bad)) << bad;
    EXPECT_EQ(account::email_fault(bad)->code, "bad_format") << bad;
  }
}

TEST(MailAddress, HasAtMost254Bytes) {
  std::string longest = std::string(242, 'x') + "@example.org";
  EXPECT_TRUE(is_mail_address(longest));
  EXPECT_FALSE(account::email_fault(longest));
  EXPECT_FALSE(is_mail_address("x" + longest));
  ASSERT_TRUE(account::email_fault("x" + longest));
  EXPECT_EQ(account::email_fault("x" + longest)->code, "too_long");
}

}  // namespace
}  // namespace hostler
