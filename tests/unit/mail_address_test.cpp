// Tests what a mail address is, lib/mail_address.h, and that accounts have no others:
// lib/account/account_rules.h.
#include "lib/mail_address.h"

#include <string>

#include <gmock/gmock.h>
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

TEST(MailAddress, HasTheLengthsOfRfc5321) {
  const std::string label(63, 'x');
  const std::string domain = label + "." + label + "." + label;  // 191 bytes
  EXPECT_TRUE(is_mail_address(std::string(62, 'a') + "@" + domain));
  for (const std::string& bad :
       {std::string(65, 'a') + "@b", std::string(63, 'a') + "@" + domain}) {
    ASSERT_TRUE(account::email_fault(bad)) << bad;
    EXPECT_EQ(account::email_fault(bad)->code, "too_long") << bad;
  }
  EXPECT_TRUE(is_mail_address(std::string(64, 'a') + "@b"));
  EXPECT_FALSE(is_mail_address("a@x" + label));
  // 60 letters ü are an A-label of more than 63 bytes.
  std::string umlauts;
  for (int i = 0; i < 60; ++i) umlauts += "ü";
  EXPECT_FALSE(is_mail_address("a@" + umlauts));
}

TEST(MailAddress, HasADomainThatIsTheSameWhenMailIsSent) {
  for (const std::string good :
       {"a@Example.ORG", "a@bücher.example", "a@BÜCHER.example", "a@xn--bcher-kva.example",
        "a@XN--BCHER-KVA.example", "a@straße.example", "a@例え.テスト", "a@a-b.example"}) {
    EXPECT_FALSE(mail_address_fault(good)) << good;
  }
  for (const std::string bad : {"a@exam\u00ADple.org",
                                "a@exam\u200Bple.org",
                                "a@exam\u200Dple.org",
                                "a@example\uFE0F.org",
                                "a@example\u3002org",
                                "a@example\uFF0Eorg",
                                "a@example.org.",
                                "a@ｅxample.org",
                                "a@.org",
                                "a@example..org",
                                "a@-example.org",
                                "a@example-.org",
                                "a@ex_ample.org",
                                "a@\u2460.org",
                                "a@xn--a.org",
                                "a.@b",
                                ".a@b",
                                "a..b@c",
                                "a\u200B@b",
                                "ａ@b"}) {
    EXPECT_TRUE(mail_address_fault(bad)) << bad;
  }
  EXPECT_THAT(*mail_address_fault("a@exam\u00ADple.org"), testing::HasSubstr("U+00AD"));
  EXPECT_THAT(*mail_address_fault("a@exam\u200Bple.org"), testing::HasSubstr("U+200B"));
}

TEST(MailAddress, HasOneKeyHoweverItIsWritten) {
  EXPECT_EQ(mail_address_key("Ada@BÜCHER.Example"), "ada@xn--bcher-kva.example");
  EXPECT_EQ(mail_address_key("ADA@XN--BCHER-KVA.EXAMPLE"), "ada@xn--bcher-kva.example");
  EXPECT_EQ(mail_address_key("ÄDA@b"), "äda@b");
  EXPECT_EQ(mail_address_key(mail_address_key("Ä@Straße.example")), "ä@xn--strae-oqa.example");
  EXPECT_EQ(account::login_key(" Ada@B "), "ada@b");
  EXPECT_EQ(account::login_key(" Ada "), "Ada");
}

}  // namespace
}  // namespace hostler
