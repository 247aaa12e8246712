// Tests what is sent out, as text: signatures of webhooks, mails and their templates.
#include <gtest/gtest.h>

#include <set>

#include <fmt/format.h>

#include <mail_templates.h>

#include "lib/ascii.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/mail/mail_message.h"
#include "lib/mail/mail_text.h"
#include "lib/webhook_signature.h"

namespace hostler {
namespace {

// The vector of the Standard Webhooks specification's reference libraries.
TEST(WebhookSignature, IsTheOneOfTheSpecification) {
  std::string secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  std::string body = R"({"test": 2432232314})";
  EXPECT_EQ(webhook_signature("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body, {secret}),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  std::string other = "whsec_" + to_base64("another key of some length");
  std::string both = webhook_signature("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body,
                                       {secret, other, "no secret"});
  EXPECT_EQ(both.substr(0, 50), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1");
  EXPECT_EQ(both.size(), 2u * 47 + 1);
}

std::vector<Json> fields(std::string_view text) { return {parse_json_or_nothing(text).value()}; }

TEST(MailText, IsInTheReadersLanguage) {
  std::vector<Json> of_ada = fields(R"({"username": "Ada", "code": "123456", "minutes": 10})");
  std::optional<mail::MailText> english = mail::mail_text("login_code", "de", of_ada);
  ASSERT_TRUE(english);
  EXPECT_EQ(english->subject, "Your Hostler login code");
  EXPECT_EQ(english->plain.substr(0, 11), "Hello Ada,\n");
  EXPECT_NE(english->plain.find("valid for 10 minutes"), std::string::npos);
  EXPECT_NE(english->html.find("123456</strong>"), std::string::npos);
  std::optional<mail::MailText> chinese = mail::mail_text("login_code", "zh-Hant-TW", of_ada);
  EXPECT_EQ(chinese->subject, "您的 Hostler 登录验证码");
  EXPECT_FALSE(mail::mail_text("no_such", "en", of_ada));
}

TEST(MailText, HasAllTemplatesInBothLanguages) {
  std::vector<Json> all = fields(
      R"({"username": "U", "token": "T", "code": "C", "minutes": 5, "org_name": "O",
          "inviter": "I"})");
  for (const char* name : {"verify_email", "login_code", "change_email", "email_changed",
                           "password_changed", "factors_changed", "identities_changed",
                           "sso_way_back", "email_set", "invitation", "test"}) {
    std::optional<mail::MailText> english = mail::mail_text(name, "en", all);
    std::optional<mail::MailText> chinese = mail::mail_text(name, "zh", all);
    ASSERT_TRUE(english && chinese) << name;
    EXPECT_NE(english->subject, chinese->subject) << name;
    EXPECT_EQ((english->plain + chinese->html).find("{{"), std::string::npos) << name;
    EXPECT_EQ(english->subject.find("Subject"), std::string::npos) << name;
  }
  EXPECT_NE(mail::mail_text("verify_email", "en", all)->plain.find("\nT\n"), std::string::npos);
  EXPECT_NE(mail::mail_text("invitation", "en", all)
                ->plain.find("I invites you to join the organization “O”"),
            std::string::npos);
}

TEST(MailText, NamesTheProductAndBeginsSentencesWithACapital) {
  std::vector<Json> all = fields(
      R"({"username": "U", "token": "T", "code": "C", "minutes": 5, "days": 7, "org_name": "O",
          "inviter": "I", "actor": "A", "slug": "o", "erase_day": "D", "link": "L"})");
  for (const char* name :
       {"verify_email", "login_code", "change_email", "email_changed", "password_changed",
        "invitation", "test", "org_deleted", "org_exported"}) {
    for (const char* locale : {"en", "zh"}) {
      mail::MailText text = mail::mail_text(name, locale, all).value();
      EXPECT_NE(text.subject.find("Hostler"), std::string::npos) << name;
      EXPECT_NE(text.plain.find("Hostler"), std::string::npos) << name;
      EXPECT_NE(text.html.find("Hostler"), std::string::npos) << name;
      for (size_t at = text.plain.find("\n\n"); at < text.plain.size();
           at = text.plain.find("\n\n", at + 2)) {
        EXPECT_FALSE(ascii::is_lower(text.plain[at + 2])) << text.plain.substr(at + 2);
      }
    }
  }
}

// The console takes the token from behind the #, and readers without a console from its own line.
TEST(MailText, LinksToTheConsoleAndKeepsTheTokenAloneOnALine) {
  const std::vector<std::pair<std::string, std::string>> screens = {{"verify_email", "verify"},
                                                                    {"change_email", "verify"},
                                                                    {"email_changed", "revert"},
                                                                    {"invitation", "invitation"}};
  for (const auto& [name, screen] : screens) {
    std::string wanted = "https://a.example/console/#/" + screen + "?token=T-_9";
    EXPECT_EQ(mail::mail_link(name, "https://a.example", "T-_9"), wanted);
    EXPECT_EQ(mail::mail_link(name, "https://a.example/", "T-_9"), wanted);
    EXPECT_EQ(mail::mail_link(name, "", "T-_9"), "");
    EXPECT_EQ(mail::mail_link(name, "https://a.example", ""), "");
    for (const char* locale : {"en", "zh"}) {
      std::vector<Json> all =
          fields(fmt::format(R"({{"token": "T-_9", "link": {}}})", json_quote(wanted)));
      std::optional<mail::MailText> linked = mail::mail_text(name, locale, all);
      EXPECT_NE(linked->plain.find("\n" + wanted + "\n"), std::string::npos) << linked->plain;
      EXPECT_NE(linked->plain.find("\nT-_9\n"), std::string::npos) << linked->plain;
      EXPECT_NE(linked->html.find("<a href=\"" + wanted + "\">"), std::string::npos)
          << linked->html;
      EXPECT_NE(linked->html.find("\n<p><code>T-_9</code></p>\n"), std::string::npos)
          << linked->html;
      std::optional<mail::MailText> plain =
          mail::mail_text(name, locale, fields(R"({"token": "T-_9"})"));
      EXPECT_NE(plain->plain.find("\nT-_9\n"), std::string::npos) << plain->plain;
      EXPECT_EQ((plain->plain + plain->html).find("href"), std::string::npos) << plain->html;
    }
  }
  EXPECT_EQ(mail::mail_link("login_code", "https://a.example", "T"), "");
}

TEST(MailText, HasSubjectsThatNothingIsFilledInto) {
  std::vector<Json> all = fields(
      R"({"username": "WHO", "inviter": "WHO", "org_name": "WHO", "token": "WHO", "code": "WHO",
          "link": "WHO", "minutes": 7531, "expires_at": "WHO", "role": "WHO"})");
  std::set<std::string_view> names;
  for (const MailTemplate& row : mail_templates) {
    names.insert(row.name);
    EXPECT_EQ(row.subject.find("{{"), row.subject.npos) << row.name << "." << row.locale;
    EXPECT_EQ(mail::mail_text(row.name, row.locale, all)->subject, row.subject) << row.name;
    // Text that programs may show as a subject.
    std::string_view title = row.html.substr(row.html.find("<title>"));
    title = title.substr(0, title.find("</title>"));
    EXPECT_EQ(title.find("{{"), title.npos) << row.name << "." << row.locale;
  }
  EXPECT_GE(names.size(), 5u);
}

TEST(MailText, MakesNoLetterAndNoLinksOfNames) {
  std::string name = "Your invoice https://evil.example/pay or mail a@evil.example. Thanks.";
  for (const char* field : {"inviter", "org_name"}) {
    std::optional<mail::MailText> text = mail::mail_text(
        "invitation", "en",
        fields(fmt::format(R"({{"{}": {}, "token": "T", "expires_at": "2026-01-02T03:04"}})", field,
                           json_quote(name))));
    for (const std::string& body : {text->plain, text->html}) {
      for (const char* link : {"://", "l.e", "@evil"}) {
        EXPECT_EQ(body.find(link), body.npos) << body;
      }
      EXPECT_NE(body.find("Your invoice https: //evil. example/pay"), body.npos) << body;
      EXPECT_NE(body.find("until 2026-01-02T03:04."), body.npos) << "ours stays as it is" << body;
    }
  }
  std::string long_name;
  for (int i = 0; i < 65; ++i) long_name += "名";
  auto greeting = [](const std::string& username) {
    return mail::mail_text("verify_email", "en",
                           fields(fmt::format(R"({{"username": {}}})", json_quote(username))))
        ->plain;
  };
  EXPECT_NE(greeting(long_name).find(long_name.substr(0, 64 * 3) + "…,"), std::string::npos);
  EXPECT_NE(greeting(long_name.substr(3)).find(long_name.substr(3) + ","), std::string::npos);
}

TEST(MailText, EscapesWhatPeopleChoseAndKeepsItInOneLine) {
  std::optional<mail::MailText> text = mail::mail_text(
      "verify_email", "en",
      fields(R"({"username": "<b>A\r\nB & C</b>", "link": "https://x.org/?a=1&b=2"})"));
  EXPECT_NE(text->html.find("&lt;b&gt;A  B &amp; C&lt;/b&gt;"), std::string::npos) << text->html;
  EXPECT_NE(text->plain.find("Hello <b>A  B & C</b>,"), std::string::npos) << text->plain;
  EXPECT_NE(text->plain.find("\nhttps://x.org/?a=1&b=2\n"), std::string::npos);
}

TEST(MailText, NamesTheKeysThatOutliveAPassword) {
  std::vector<Json> two = fields(
      R"({"key_count": 22, "more": 20, "keys": [{"name": "<i>ci\n", "prefix": "hst_aaaa"},
          {"name": "{{token}}", "prefix": "hst_bbbb"}]})");
  std::optional<mail::MailText> text = mail::mail_text("password_changed", "en", two);
  EXPECT_NE(text->plain.find("These are active:\n\n- hst_aaaa… \"<i>ci \"\n"
                             "- hst_bbbb… \"{{token}}\"\n\n"
                             "There are 20 more. Revoke the keys that you do not know.\n\nIf"),
            std::string::npos)
      << text->plain;
  EXPECT_NE(text->html.find("<li><code>hst_aaaa…</code> “&lt;i&gt;ci ”</li>\n<li>"),
            std::string::npos)
      << text->html;
  EXPECT_EQ(text->html.find("no active API keys"), std::string::npos);
  text = mail::mail_text("password_changed", "en", fields(R"({"username": "Ada"})"));
  EXPECT_NE(text->plain.find("\n\nYou have no active API keys.\n\nIf"), std::string::npos)
      << text->plain;
  EXPECT_EQ(text->html.find("These are active"), std::string::npos);
}

TEST(MailMessage, HasNoLineThatIsTooLongAndNoneFromOutside) {
  mail::MailText text{"二十个字的主题会被编码成几行的二十个字的主题\r\nBcc: eve@example.org",
                      "plain", "<p>"};
  mail::MailHead head{"id-1",
                      {"Hostler\r\nCc: eve@example.org", "from@example.org"},
                      "to@example.org",
                      1'700'000'000'000};
  std::string message = mail::mail_message(head, text);
  size_t begin = 0;
  for (size_t end; (end = message.find("\r\n", begin)) != std::string::npos; begin = end + 2) {
    std::string line = message.substr(begin, end - begin);
    EXPECT_LE(line.size(), 78u) << line;
    EXPECT_FALSE(line.starts_with("Bcc") || line.starts_with("Cc")) << line;
    EXPECT_EQ(line.find_first_of("\r\n"), std::string::npos);
  }
  EXPECT_EQ(begin, message.size()) << "ends with a line's end";
  EXPECT_NE(message.find("Date: Tue, 14 Nov 2023 22:13:20 +0000\r\n"), std::string::npos);
  EXPECT_NE(message.find("Message-ID: <id-1@example.org>\r\n"), std::string::npos);
}

TEST(Mailbox, IsOneAddressWithANameOrWithout) {
  EXPECT_EQ(mail::parse_mailbox("Ada <a@b.org>")->name, "Ada");
  EXPECT_EQ(mail::parse_mailbox("\"Ada L\" <a@b.org>")->name, "Ada L");
  EXPECT_EQ(mail::parse_mailbox("a@b.org")->address, "a@b.org");
  for (const char* bad : {"Ada a@b.org", "Ada <a@b> x", "A\r\nB <a@b.org>", "<<a@b>"}) {
    EXPECT_FALSE(mail::parse_mailbox(bad)) << bad;
  }
}

}  // namespace
}  // namespace hostler
