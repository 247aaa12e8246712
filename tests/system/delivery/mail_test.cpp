// Queued mails with the real daemon: into a folder, to a real mail server, again after failures,
// and not before there are settings.
#include <gtest/gtest.h>

#include <filesystem>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "tests/support/eventually.h"
#include "tests/support/peers/outside_peers.h"
#include "tests/support/rigs/mail_harness.h"
#include "tests/support/rigs/run_program.h"
#include "tests/support/rigs/webhook_harness.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

TEST(Mail, BecomesAFileWhereAFolderIsSet) {
  auto stack = start_mail_stack({});
  std::string id = queue_mail(*stack, "ada@example.org");
  EXPECT_EQ(wait_for_mail(*stack, id, "delivered", "1"), "delivered");
  std::string file = read_text_file(stack->folder() + "/mail/" + id + ".eml");
  EXPECT_NE(file.find("To: <ada@example.org>\r\n"), std::string::npos) << file;
  EXPECT_NE(file.find("Message-ID: <" + id + "@"), std::string::npos);
}

// What base64 hides of a mail's text, as it stands in the file: its first part, which is plain.
std::string plain_part(const std::string& file) {
  size_t begin = file.find("\r\n\r\n", file.find("Content-Type: text/plain"));
  std::string encoded = file.substr(begin, file.find("\r\n--", begin) - begin);
  std::erase_if(encoded, [](char c) { return c == '\r' || c == '\n'; });
  return from_base64(encoded).value_or("");
}

// The token in the paragraph behind these words. A delivered mail's file alone has it: what the
// outbox held of it is gone by then.
std::string token_behind(const std::string& words, const std::string& file) {
  std::string text = plain_part(file);
  size_t line = text.find(words);
  return line == std::string::npos ? text : text.substr(text.find("\n\n", line) + 2, 43);
}

TEST(Mail, TellsWhatBecameOfAnAccountsAddressAndPassword) {
  auto stack = start_mail_stack({});
  TestUser user = register_user(*stack);
  stack->sql().run_text("UPDATE users SET email_verified_at = now()");
  make_api_key(*stack, user, user.org_id);
  stack->sql().run_text("UPDATE api_keys SET name = E'night\nly <b>', key_prefix = 'hst_abcd'");
  std::string passwords = fmt::format(
      R"({{"current_password":"{}","new_password":"another password"}})", user.password);
  ASSERT_EQ(user.client.post("/v1/me/password", passwords).status, 204);
  Answer asked = user.client.post(
      "/v1/me/email", R"({"email":"ada@example.net","current_password":"another password"})");
  ASSERT_EQ(asked.status, 204) << asked.body;
  auto delivered = [&](const char* mail_template) {
    std::string id = sql_value(
        *stack, fmt::format("SELECT id FROM outbox WHERE template = '{}'", mail_template));
    EXPECT_EQ(wait_for_mail(*stack, id, "delivered", "1"), "delivered") << mail_template;
    return read_text_file(stack->folder() + "/mail/" + id + ".eml");
  };
  std::string token = token_behind("make this your mail address:", delivered("change_email"));
  ASSERT_EQ(
      user.client.post("/v1/auth/email/verify/confirm", fmt::format(R"({{"token":"{}"}})", token))
          .status,
      200)
      << token;
  std::string password = delivered("password_changed");
  EXPECT_NE(password.find("To: <" + user.email + ">\r\n"), std::string::npos) << password;
  EXPECT_NE(password.find("Subject: The password of your account was changed\r\n"),
            std::string::npos);
  EXPECT_NE(plain_part(password).find("- hst_abcd… \"night ly <b>\""), std::string::npos)
      << plain_part(password);
  std::string address = delivered("email_changed");
  EXPECT_NE(address.find("To: <" + user.email + ">\r\n"), std::string::npos) << address;
  EXPECT_NE(address.find("Subject: The mail address of your account was changed\r\n"),
            std::string::npos);
  std::string stated = plain_part(address);
  EXPECT_NE(stated.find("valid for 7 days"), std::string::npos) << stated;
  EXPECT_EQ(stated.find("ada@example.net"), std::string::npos) << "not everybody's business";
  std::string revert_token = token_behind("to take your account back:", address);
  EXPECT_EQ(
      user.client.post("/v1/auth/email/revert", fmt::format(R"({{"token":"{}"}})", revert_token))
          .status,
      200)
      << stated;
}

TEST(Mail, WaitsUntilThereAreSettings) {
  auto stack = start_mail_stack({"HOSTLER_MAIL_DIR=", "HOSTLER_OUTBOUND_ALLOW_CIDRS=127.0.0.0/8"});
  TestUser admin = register_admin(*stack);
  std::string id = queue_mail(*stack, "ada@example.org");
  // Whoever looks for webhooks looks for mails, too: the second came behind a look at this one.
  for (int i = 0; i < 2; ++i) {
    Endpoint endpoint = add_endpoint(admin, fmt::format("/mail-{}", i));
    ASSERT_EQ(admin.client.post(endpoint.at(":test")).status, 201);
    ASSERT_EQ(wait_for_delivery(admin, endpoint.id, "delivered").text_or("status"), "delivered");
  }
  EXPECT_EQ(of_mail(*stack, id, "status || ' ' || attempts"), "pending 0");
  auto server = start_mail_server("starttls");
  configure_mail(admin, server->port(), "starttls");
  EXPECT_EQ(wait_for_mail(*stack, id, "delivered", "1"), "delivered");
  EXPECT_EQ(copies_of(id, *server), 1u);
}

TEST(Mail, IsTriedAgainUnlessItsRecipientIsRefusedForGood) {
  auto stack = start_mail_stack({});
  TestUser admin = register_admin(*stack);
  auto server = start_mail_server("tls");
  configure_mail(admin, server->port(), "tls");
  std::string refused = queue_mail(*stack, "nobody@example.org");
  EXPECT_EQ(wait_for_mail(*stack, refused, "failed", "1"), "failed");
  EXPECT_EQ(of_mail(*stack, refused, "last_error"), "550 5.1.1 There is nobody of this name");
  std::string later = queue_mail(*stack, "later@example.org");
  EXPECT_EQ(wait_for_mail(*stack, later, "pending", "1"), "pending");
  EXPECT_EQ(of_mail(*stack, later, "last_error"), "451 4.7.1 Greylisted, come again");
  std::string slow = queue_mail(*stack, "slow@example.org");
  EXPECT_EQ(wait_for_mail(*stack, slow, "delivered", "1"), "delivered");
  // New settings are tried at once.
  std::string unreachable = [&] {
    configure_mail(admin, free_port(), "tls");
    std::string id = queue_mail(*stack, "bob@example.org");
    EXPECT_EQ(wait_for_mail(*stack, id, "pending", "1"), "pending");
    configure_mail(admin, server->port(), "tls");
    return id;
  }();
  EXPECT_EQ(wait_for_mail(*stack, unreachable, "delivered", "2"), "delivered");
}

// Of this template to this address, when it was delivered; empty until then.
std::string delivered_at(ApiStack& stack, std::string_view what, const std::string& to) {
  return sql_value(stack, fmt::format("SELECT coalesce(max(delivered_at)::text, '') FROM outbox "
                                      "WHERE template = '{}' AND recipient = '{}'",
                                      what, to));
}

TEST(LoginCode, LeavesWhileOthersHangAndBeforeThoseThatWait) {
  auto stack = start_mail_stack({});
  TestUser admin = register_admin(*stack);
  auto server = start_mail_server("plain");
  configure_mail(admin, server->port(), "none");
  stack->sql().run_text(
      "SELECT mail_queue('invitation', 'slow@example.org', 'en', '{}') FROM generate_series(1, "
      "40)");
  const char* hanging =
      "SELECT count(*) FROM outbox WHERE template = 'invitation' AND owner_id IS NOT NULL";
  ASSERT_TRUE(eventually(10'000, [&] { return sql_number(*stack, hanging) == 6; }))
      << "two of eight are kept for codes";

  int64_t asked_ms = monotonic_ms();
  std::string body = fmt::format(R"({{"email":"{}"}})", admin.email);
  ASSERT_EQ(admin.client.post("/v1/auth/email/otp/send", body).status, 204);
  EXPECT_TRUE(eventually(asked_ms + 2000 - monotonic_ms(),
                         [&] { return !delivered_at(*stack, "login_code", admin.email).empty(); }));
  EXPECT_EQ(delivered_at(*stack, "invitation", "slow@example.org"), "") << "they hang for five";
}

TEST(Mail, IsNotSentWhenWhatItSaysIsOver) {
  auto stack = start_mail_stack({"HOSTLER_MAIL_DIR="});
  TestUser admin = register_admin(*stack);
  std::string id = sql_value(
      *stack, "SELECT mail_queue('login_code', 'ada@example.org', 'en', '{\"minutes\": 10}')");
  stack->sql().run_text("UPDATE outbox SET expires_at = clock_timestamp() WHERE id = '" + id + "'");
  std::string good = queue_mail(*stack, "bob@example.org");
  auto server = start_mail_server("plain");
  configure_mail(admin, server->port(), "none");
  EXPECT_EQ(wait_for_mail(*stack, id, "failed", "1"), "failed");
  EXPECT_EQ(of_mail(*stack, id, "last_error"), "it was over before it could be sent");
  EXPECT_EQ(wait_for_mail(*stack, good, "delivered", "1"), "delivered");
  EXPECT_EQ(copies_of(id, *server), 0u);
}

TEST(Mail, IsNotLostWhenTheDaemonDies) {
  auto stack = start_mail_stack({});
  TestUser admin = register_admin(*stack);
  auto server = start_mail_server("plain");
  configure_mail(admin, server->port(), "none");
  std::string id = queue_mail(*stack, "slow@example.org");
  ASSERT_TRUE(eventually(10'000, [&] { return !of_mail(*stack, id, "owner_id").empty(); }));
  stack->kill_runner();
  stack->start_runner();
  EXPECT_EQ(wait_for_mail(*stack, id, "delivered", "1"), "delivered");
  EXPECT_GE(copies_of(id, *server), 1u);  // at least once, by the same name
}

// Its claim is held until behind the moment at which daemon_stop would have handed back.
TEST(Outbox, IsHandedBackByADaemonThatStopsWhileItsClaimsAreOnTheirWay) {
  auto stack = start_mail_stack({});
  TestUser user = register_user(*stack);
  Endpoint endpoint = add_endpoint_at(user, "https://receiver.example.org/");
  stack->sql().run_text(
      "CREATE FUNCTION hold_claim() RETURNS trigger LANGUAGE plpgsql AS $$ "
      "BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NEW; END $$;"
      "CREATE TRIGGER held BEFORE UPDATE OF owner_id ON outbox FOR EACH ROW "
      "WHEN (OLD.owner_id IS NULL AND NEW.owner_id IS NOT NULL) EXECUTE FUNCTION hold_claim();"
      "SELECT pg_advisory_lock(7)");
  ASSERT_EQ(user.client.post(endpoint.at(":test")).status, 201);
  std::string mail = queue_mail(*stack, "ada@example.org");
  const char* held =
      "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND NOT granted AND "
      "database = (SELECT oid FROM pg_database WHERE datname = current_database())";
  ASSERT_TRUE(eventually(10'000, [&] { return sql_number(*stack, held) == 2; }))
      << "a mail and a webhook are being claimed";

  stack->runner().send_signal(SIGTERM);
  std::string log = stack->folder() + "/runner.log";
  ASSERT_TRUE(eventually(
      10'000, [&] { return read_text_file(log).find("daemon_drains") != std::string::npos; }));
  stack->sql().run_text("SELECT pg_advisory_unlock(7)");
  EXPECT_EQ(stack->runner().wait(), 0);
  stack->sql().run_text("SELECT pg_advisory_xact_lock(7)");  // behind the claims' commits
  const char* leased = "SELECT count(*) FROM outbox WHERE lease_until IS NOT NULL";
  EXPECT_EQ(sql_number(*stack, leased), 0) << "they wait for the end of a lease";
  stack->start_runner();
  EXPECT_EQ(wait_for_mail(*stack, mail, "delivered", "1"), "delivered");
}

TEST(Mail, CannotBeMadeToCarryFurtherFields) {
  auto stack = start_mail_stack({});
  std::string id = queue_mail(*stack, "ada@example.org",
                              R"({"username": "Eve\\r\\nBcc: all@example.org <b>", "minutes": 1})");
  EXPECT_EQ(wait_for_mail(*stack, id, "delivered", "1"), "delivered");
  EXPECT_EQ(read_text_file(stack->folder() + "/mail/" + id + ".eml").find("Bcc:"),
            std::string::npos);
  std::string injected = queue_mail(*stack, "ada@example.org\r\nBcc: x@example.org");
  EXPECT_EQ(wait_for_mail(*stack, injected, "failed", "1"), "failed");
}

TEST(Outbox, IsSeenAndMendedByTheOperator) {
  auto stack = start_mail_stack({"HOSTLER_MAIL_DIR="});
  std::string id = queue_mail(*stack, "ada@example.org");
  auto ctl = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {build_folder() + "/hostlerctl", "outbox"});
    return run_program(arguments, {"HOSTLER_DATABASE_URL=" + stack->database().superuser_url()});
  };
  ProgramRun list = ctl({"list"});
  EXPECT_EQ(list.status, 0) << list.err;
  EXPECT_NE(list.out.find(id), std::string::npos);
  EXPECT_NE(list.out.find("ada@example.org"), std::string::npos);
  EXPECT_EQ(parse_json_or_nothing(ctl({"list", "-o", "json"}).out)->as_array()->size(), 1u);
  stack->sql().run_text(
      "UPDATE outbox SET status = 'failed', next_attempt_at = NULL, attempts = 11");
  EXPECT_EQ(ctl({"list", "--status", "pending"}).out, "");
  EXPECT_EQ(ctl({"retry", "--all-failed"}).out,
            "1 due now: 1 as they were, 0 with a new code or link; 0 refused\n");
  EXPECT_EQ(of_mail(*stack, id, "status || ' ' || attempts_before"), "pending 11");
  EXPECT_EQ(ctl({"retry"}).status, 64);
  EXPECT_EQ(ctl({"retry", "x"}).status, 64);
  EXPECT_EQ(ctl({"drop", id}).status, 0);
  EXPECT_EQ(ctl({"drop", id}).status, 65);
  EXPECT_EQ(ctl({"retry", id}).status, 65);
  EXPECT_EQ(sql_number(*stack, "SELECT count(*) FROM outbox"), 0);
}

}  // namespace
}  // namespace hostler::testing_support
