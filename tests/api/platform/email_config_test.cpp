// GET /v1/admin/email/status, GET /v1/admin/email/config, PUT /v1/admin/email/config,
// POST /v1/admin/email/test: settings from where they come, and a mail to try them, against a real
// mail server.
#include <gtest/gtest.h>

#include <filesystem>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/peers/outside_peers.h"
#include "tests/support/peers/strict_mail_server.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

// Tests store settings for the whole platform: a stack of their own each.
std::unique_ptr<ApiStack> start_stack(std::vector<std::string> settings) {
  settings.push_back("HOSTLER_OUTBOUND_CA_FILE=" + OutsidePeer::ca_file());
  return std::make_unique<ApiStack>(ApiStackOptions{std::move(settings), false});
}

Answer test_mail(const TestUser& admin, std::string_view to) {
  return admin.client.post("/v1/admin/email/test", fmt::format(R"({{"to":"{}"}})", to));
}

// 204 of PUT /v1/admin/email/config.
void configure(const TestUser& admin, int port, std::string_view tls, std::string_view more = "",
               std::string_view host = "127.0.0.1") {
  Answer stored = admin.client.put(
      "/v1/admin/email/config",
      fmt::format(R"({{"from":"Hostler <hostler@example.org>","smtp_host":"{}","smtp_port":{},)"
                  R"("smtp_tls_mode":"{}"{}}})",
                  host, port, tls, more));
  ASSERT_EQ(stored.status, 204) << stored.body;
}

std::string status_of(const TestUser& admin) {
  Answer status = admin.client.get("/v1/admin/email/status");
  EXPECT_EQ(status.status, 200);
  return fmt::format("{} {} {}", status.member("configured"), status.member("source"),
                     status.member("from"));
}

TEST(EmailConfig, ComesFromNowhereAndThenFromTheDatabase) {
  auto stack = start_stack({"HOSTLER_MAIL_DIR="});
  TestUser admin = register_admin(*stack);
  EXPECT_EQ(status_of(admin), "false none ");
  EXPECT_TRUE(is_problem(test_mail(admin, "ada@example.org"), 503, "email.not_configured"));
  configure(admin, 25, "none", R"(,"smtp_user":"me","smtp_pass":"open sesame")");
  EXPECT_EQ(status_of(admin), "true db Hostler <hostler@example.org>");
  Answer shown = admin.client.get("/v1/admin/email/config");
  EXPECT_EQ(shown.status, 200);
  EXPECT_EQ(shown.member("smtp_pass_set"), "true");
  EXPECT_EQ(shown.member("smtp_user"), "me");
  EXPECT_EQ(shown.body.find("sesame"), std::string::npos);
  configure(admin, 25, "tls");
  shown = admin.client.get("/v1/admin/email/config");
  EXPECT_EQ(shown.member("smtp_pass_set"), "true") << "an absent password is kept";
  EXPECT_EQ(shown.member("smtp_user"), "");
  EXPECT_EQ(shown.member("smtp_port"), "25");
  EXPECT_EQ(shown.member("smtp_tls_mode"), "tls");
  EXPECT_EQ(sql_number(*stack, "SELECT count(*) FROM secrets WHERE kind = 'email_config'"), 1);
  EXPECT_EQ(sql_number(*stack,
                       "SELECT count(*) FROM audit_logs WHERE action = 'email.config_set' "
                       "AND after_state::text NOT LIKE '%sesame%'"),
            2);
  configure(admin, 26, "tls", R"(,"smtp_pass":"")");
  EXPECT_EQ(admin.client.get("/v1/admin/email/config").member("smtp_pass_set"), "false");
  EXPECT_EQ(sql_number(*stack, "SELECT count(*) FROM secrets WHERE kind = 'email_config'"), 0);
}

TEST(EmailConfig, SendsAStoredPasswordNowhereElse) {
  auto stack = start_stack({"HOSTLER_MAIL_DIR="});
  TestUser admin = register_admin(*stack);
  auto put = [&](std::string_view host, int port, std::string_view tls, std::string_view more) {
    return admin.client.put(
        "/v1/admin/email/config",
        fmt::format(R"({{"from":"a@example.org","smtp_host":"{}","smtp_port":{},)"
                    R"("smtp_tls_mode":"{}"{}}})",
                    host, port, tls, more));
  };
  constexpr std::string_view password = R"(,"smtp_pass":"open sesame")";
  EXPECT_EQ(put("a.example", 25, "none", "").status, 204);
  EXPECT_EQ(put("b.example", 26, "none", "").status, 204) << "none is stored";
  EXPECT_EQ(put("mail.example", 587, "starttls", password).status, 204);
  struct Case {
    const char* host;
    int port;
    const char* tls;
  };
  for (const Case& other :
       {Case{"mail.example.org", 587, "starttls"}, Case{"mail.example", 25, "starttls"},
        Case{"mail.example", 587, "none"}, Case{"mail.example", 465, "tls"}}) {
    EXPECT_TRUE(has_fault(put(other.host, other.port, other.tls, ""), "smtp_pass", "required"))
        << other.host << other.port << other.tls;
  }
  EXPECT_EQ(admin.client.get("/v1/admin/email/config").member("smtp_port"), "587");
  EXPECT_EQ(put("MAIL.example", 587, "tls", "").status, 204) << "stronger, at the same server";
  EXPECT_TRUE(has_fault(put("mail.example", 587, "starttls", ""), "smtp_pass", "required"));
  EXPECT_EQ(admin.client.get("/v1/admin/email/config").member("smtp_pass_set"), "true");
  EXPECT_EQ(put("other.example", 25, "none", password).status, 204);
  EXPECT_EQ(put("third.example", 25, "none", R"(,"smtp_pass":"")").status, 204);
  EXPECT_EQ(put("fourth.example", 26, "none", "").status, 204);
}

TEST(EmailConfig, ComesFromTheEnvironmentUntilItIsStored) {
  auto stack = start_stack({"HOSTLER_MAIL_SMTP_HOST=mail.example.org",
                            "HOSTLER_MAIL_FROM=env@example.org", "HOSTLER_MAIL_SMTP_PASS=x"});
  TestUser admin = register_admin(*stack);
  EXPECT_EQ(status_of(admin), "true env env@example.org");
  Answer shown = admin.client.get("/v1/admin/email/config");
  EXPECT_EQ(shown.member("smtp_host"), "mail.example.org");
  EXPECT_EQ(shown.member("smtp_port"), "587");
  EXPECT_EQ(shown.member("smtp_pass_set"), "true");
  configure(admin, 25, "none");
  EXPECT_EQ(status_of(admin), "true db Hostler <hostler@example.org>");
}

TEST(EmailConfig, IsAFolderWhereNothingElseIsSet) {
  auto stack = start_stack({});
  TestUser admin = register_admin(*stack);
  EXPECT_EQ(status_of(admin).substr(0, 8), "true env");
  EXPECT_EQ(test_mail(admin, "ada@example.org").status, 204);
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(stack->folder() + "/mail")) {
    if (file.path().extension() != ".eml") continue;
    ++files;
    EXPECT_NE(read_text_file(file.path()).find("To: <ada@example.org>\r\n"), std::string::npos);
  }
  EXPECT_EQ(files, 1);
  EXPECT_EQ(sql_number(*stack, "SELECT count(*) FROM audit_logs WHERE action = 'email.test'"), 1);
}

TEST(EmailConfig, RefusesWhatCannotBe) {
  auto stack = start_stack({});
  TestUser admin = register_admin(*stack);
  auto put = [&](const std::string& body) {
    return admin.client.put("/v1/admin/email/config", body);
  };
  EXPECT_EQ(fault_count(put("{}")), 4u);
  Answer bad = put(R"({"from":"a b","smtp_host":"h\r\nx","smtp_port":0,"smtp_tls_mode":"ssl"})");
  EXPECT_TRUE(has_fault(bad, "from", "bad_format"));
  EXPECT_EQ(fault_count(bad), 4u) << bad.body;
  EXPECT_EQ(put(R"({"from":"a@b\r\nBcc: c@d","smtp_host":"h","smtp_port":1,"smtp_tls_mode":"tls"})")
                .status,
            422);
  for (const char* host : {"x:25", "127.0.0.1:25", "::1:x"}) {
    Answer with_port = put(fmt::format(R"({{"from":"a@b.org","smtp_host":"{}","smtp_port":1,)"
                                       R"("smtp_tls_mode":"tls"}})",
                                       host));
    EXPECT_TRUE(has_fault(with_port, "smtp_host", "bad_format")) << host;
    EXPECT_NE(with_port.body.find("put the port into smtp_port"), std::string::npos);
  }
  EXPECT_EQ(
      put(R"({"from":"a@b.org","smtp_host":"2001:db8::25","smtp_port":25,"smtp_tls_mode":"tls"})")
          .status,
      204);
  EXPECT_TRUE(has_fault(test_mail(admin, "nonsense"), "to", "bad_format"));
  EXPECT_TRUE(has_fault(admin.client.post("/v1/admin/email/test", "{}"), "to", "required"));
  TestUser user = register_user(*stack);
  for (const char* path : {"/v1/admin/email/status", "/v1/admin/email/config"}) {
    EXPECT_TRUE(is_problem(user.client.get(path), 403, "auth.forbidden"));
  }
  EXPECT_TRUE(is_problem(test_mail(user, "a@b.org"), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(user.client.put("/v1/admin/email/config", "{}"), 403, "auth.forbidden"));
}

class EmailTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { stack_ = start_stack({}).release(); }
  static void TearDownTestSuite() { delete std::exchange(stack_, nullptr); }
  EmailTest() : admin_(register_admin(*stack_)) {}
  static inline ApiStack* stack_ = nullptr;
  TestUser admin_;
};

TEST_F(EmailTest, ArrivesOverEachKindOfConnection) {
  for (const char* mode : {"plain", "starttls", "tls", "auth"}) {
    SCOPED_TRACE(mode);
    auto server = start_mail_server(mode);
    bool has_login = std::string_view(mode) == "auth";
    std::string_view tls = std::string_view(mode) == "plain" ? "none"
                           : std::string_view(mode) == "tls" ? "tls"
                                                             : "starttls";
    configure(admin_, server->port(), tls,
              has_login ? R"(,"smtp_user":"user","smtp_pass":"secret")" : "");
    Answer sent = test_mail(admin_, "ada@example.org");
    EXPECT_EQ(sent.status, 204) << sent.body;
    std::vector<Json> records = server->wait_for_records(has_login ? 2 : 1);
    ASSERT_FALSE(records.empty());
    const Json& mail = records.back();
    EXPECT_EQ(mail.text_or("from"), "hostler@example.org");
    EXPECT_EQ(*mail.find("tls")->as_boolean(), tls != "none");
    EXPECT_EQ(mail.text_or("login"), has_login ? "user" : "");
    EXPECT_NE(mail.text_or("message").find("Subject: Test email from Hostler\r\n"),
              std::string::npos);
  }
}

TEST_F(EmailTest, FailsWithTheServersWords) {
  auto server = start_mail_server("auth");
  configure(admin_, server->port(), "starttls", R"(,"smtp_user":"user","smtp_pass":"secret")");
  Answer refused = test_mail(admin_, "nobody@example.org");
  EXPECT_TRUE(is_problem(refused, 502, "email.delivery_failed"));
  EXPECT_EQ(refused.member("detail"), "550 5.1.1 There is nobody of this name");
  EXPECT_EQ(test_mail(admin_, "later@example.org").member("detail").substr(0, 9), "451 4.7.1");
  configure(admin_, server->port(), "starttls", R"(,"smtp_user":"user","smtp_pass":"wrong")");
  Answer closed = test_mail(admin_, "ada@example.org");
  EXPECT_TRUE(is_problem(closed, 502, "email.delivery_failed"));
  EXPECT_EQ(closed.member("detail").substr(0, 3), "535") << closed.body;
  EXPECT_EQ(closed.body.find("wrong"), std::string::npos);
  configure(admin_, free_port(), "starttls", R"(,"smtp_user":"user","smtp_pass":"secret")");
  EXPECT_TRUE(is_problem(test_mail(admin_, "ada@example.org"), 502, "email.delivery_failed"));
  EXPECT_EQ(sql_number(*stack_,
                       "SELECT count(*) FROM audit_logs WHERE action = 'email.test' AND "
                       "result = 'failed' AND actor_user_id = '" +
                           admin_.id + "'"),
            4);
}

TEST_F(EmailTest, SaysWhereNoServerAnsweredAndWhatToMend) {
  constexpr std::string_view no_password = R"(,"smtp_pass":"")";
  int nobody = free_port();
  configure(admin_, nobody, "none", no_password);
  EXPECT_EQ(test_mail(admin_, "ada@example.org").member("detail"),
            fmt::format("127.0.0.1:{} refuses connections: check smtp_host and smtp_port", nobody));
  // No query leaves for a label that is too long for one.
  std::string unknown = std::string(64, 'a') + ".example";
  configure(admin_, 25, "none", no_password, unknown);
  EXPECT_EQ(test_mail(admin_, "ada@example.org").member("detail"),
            unknown + ":25 does not resolve: check smtp_host");
  auto server = start_mail_server("plain");
  configure(admin_, server->port(), "tls", no_password);
  EXPECT_EQ(test_mail(admin_, "ada@example.org").member("detail"),
            fmt::format("127.0.0.1:{} answers without TLS: try smtp_tls_mode starttls or none",
                        server->port()));
}

// A login that is configured is never skipped, and a server is never greeted by a short name.
TEST_F(EmailTest, FailsWhereTheServerOffersNoLogin) {
  auto server = start_mail_server("plain");
  configure(admin_, server->port(), "none", R"(,"smtp_user":"user","smtp_pass":"secret")");
  Answer answer = test_mail(admin_, "ada@example.org");
  EXPECT_TRUE(is_problem(answer, 502, "email.delivery_failed"));
  EXPECT_NE(answer.member("detail").find("offers no login (AUTH)"), std::string::npos)
      << answer.body;
  EXPECT_TRUE(server->records().empty());
}

TEST_F(EmailTest, GreetsWithMailHelo) {
  StrictMailServer server;
  configure(admin_, server.port(), "none", R"(,"smtp_pass":"")");
  ASSERT_LT(admin_.client.put("/v1/admin/settings/mail.helo", R"({"value":"192.0.2.7"})").status,
            300);
  ASSERT_TRUE(eventually(10'000, [&] {
    EXPECT_EQ(test_mail(admin_, "ada@bücher.example").status, 204);
    return server.was_sent("EHLO [192.0.2.7]");
  }));
  EXPECT_TRUE(server.was_sent("RCPT TO:<ada@xn--bcher-kva.example>"));
  EXPECT_EQ(admin_.client.put("/v1/admin/settings/mail.helo", R"({"value":"a b"})").status, 422);
  EXPECT_EQ(admin_.client.del("/v1/admin/settings/mail.helo").status / 100, 2);
}

// A server without STARTTLS is what remains when somebody strips it on the way.
TEST_F(EmailTest, NeverFallsBackToPlainText) {
  auto server = start_mail_server("plain");
  configure(admin_, server->port(), "starttls", R"(,"smtp_user":"user","smtp_pass":"secret")");
  Answer answer = test_mail(admin_, "ada@example.org");
  EXPECT_TRUE(is_problem(answer, 502, "email.delivery_failed"));
  EXPECT_NE(answer.member("detail").find("STARTTLS"), std::string::npos) << answer.body;
  EXPECT_TRUE(server->records().empty()) << "neither a login nor a mail was sent";
}

TEST_F(EmailTest, BelievesNoUnknownCertificate) {
  auto distrusting = std::make_unique<ApiStack>();
  TestUser admin = register_admin(*distrusting);
  for (const char* mode : {"tls", "starttls"}) {
    auto server = start_mail_server(mode);
    configure(admin, server->port(), mode);
    Answer answer = test_mail(admin, "ada@example.org");
    EXPECT_TRUE(is_problem(answer, 502, "email.delivery_failed"));
    EXPECT_NE(answer.member("detail").find("certificate"), std::string::npos) << answer.body;
    EXPECT_NE(answer.member("detail").find("outbound.ca_file"), std::string::npos) << answer.body;
    EXPECT_TRUE(server->records().empty());
  }
}

}  // namespace
}  // namespace hostler::testing_support
