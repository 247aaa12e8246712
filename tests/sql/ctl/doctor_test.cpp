// hostlerctl doctor, where it looks beyond this process: the mail server and what waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lib/config/secret_box.h"
#include "lib/crypto.h"
#include "lib/health/database_health.h"
#include "lib/net/unix_listener.h"
#include "queries/health.h"
#include "queries/operator.h"
#include "tests/support/eventually.h"
#include "tests/support/peers/outside_peers.h"
#include "tests/support/rigs/database.h"
#include "tests/support/rigs/run_program.h"

namespace hostler {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using namespace testing_support;

class Doctor : public testing::Test {
 protected:
  std::string reported(std::vector<std::string> environment) {
    environment.push_back("HOSTLER_DATABASE_URL=" + database_.superuser_url());
    return run_ctl({"doctor"}, environment).out;
  }
  std::string mail_reported(int port, const std::string& tls, std::vector<std::string> more = {}) {
    more.insert(
        more.end(),
        {"HOSTLER_MAIL_SMTP_HOST=127.0.0.1", "HOSTLER_MAIL_FROM=hostler@example.org",
         fmt::format("HOSTLER_MAIL_SMTP_PORT={}", port), "HOSTLER_MAIL_SMTP_TLS_MODE=" + tls,
         "HOSTLER_OUTBOUND_CA_FILE=" + OutsidePeer::ca_file()});
    return reported(more);
  }

  TestDatabase database_;
};

TEST_F(Doctor, TriesTheMailServerWithoutSendingAMail) {
  auto server = start_mail_server("starttls");
  EXPECT_THAT(mail_reported(server->port(), "starttls"),
              ContainsRegex("ok +mail +127.0.0.1:[0-9]+ takes the connection\n"));
  EXPECT_TRUE(server->records().empty());
  auto plain = start_mail_server("plain");
  EXPECT_THAT(mail_reported(plain->port(), "starttls"), ContainsRegex("failure +mail +127.0.0.1:"));
  EXPECT_THAT(mail_reported(free_port(), "none"), ContainsRegex("failure +mail +127.0.0.1:"));
}

// Holds them like the service manager while no program runs.
TEST_F(Doctor, MissesWhoeverShouldAnswerBehindTheSockets) {
  std::string path = testing::TempDir() + database_.name() + ".sock";
  int held = net::listen_unix(path, 0600);
  std::string report = reported({"HOSTLER_API_SOCKET=" + path, "HOSTLER_STREAM_SOCKET=" + path});
  close(held);
  unlink(path.c_str());
  EXPECT_THAT(report, ContainsRegex("failure +API socket .*does not answer"));
  EXPECT_THAT(report, ContainsRegex("failure +stream socket .*does not answer"));
}

TEST_F(Doctor, TriesTheLoginToo) {
  auto server = start_mail_server("auth");
  EXPECT_THAT(mail_reported(server->port(), "starttls",
                            {"HOSTLER_MAIL_SMTP_USER=user", "HOSTLER_MAIL_SMTP_PASS=secret"}),
              HasSubstr("takes the connection and the login"));
  std::string refused = mail_reported(
      server->port(), "starttls", {"HOSTLER_MAIL_SMTP_USER=user", "HOSTLER_MAIL_SMTP_PASS=hush"});
  EXPECT_THAT(refused, ContainsRegex("failure +mail +127.0.0.1:[0-9]+: 535"));
  EXPECT_THAT(refused, Not(HasSubstr("hush")));
}

TEST_F(Doctor, WarnsOfAPortThatEverybodyMayReach) {
  EXPECT_THAT(reported({"HOSTLER_API_LISTEN_TCP=0.0.0.0:9000", "HOSTLER_API_TCP_PEERS=10.0.0.1"}),
              ContainsRegex("warning +api.listen_tcp +0.0.0.0:9000 may be reached"));
  EXPECT_THAT(reported({"HOSTLER_API_LISTEN_TCP=10.0.0.5:9000", "HOSTLER_API_TCP_PEERS=10.0.0.1"}),
              ContainsRegex("ok +api.listen_tcp +10.0.0.5:9000"));
}

TEST_F(Doctor, WarnsOfAPoolWhoseReloadHasNoRoom) {
  EXPECT_THAT(reported({"HOSTLER_API_WORKERS=200", "HOSTLER_API_OWN_CONNECTIONS=98"}),
              ContainsRegex("warning +connections +[0-9]+ of [0-9]+; a reload of the pool, which "
                            "has up to 20000, needs room for 400[0-9][0-9]: raise max_connections "
                            "by [0-9]+"));
}

TEST(DoctorOfStandbys, SaysHowManyMayBeLost) {
  EXPECT_EQ(health::standbys_to_spare(""), 1);
  EXPECT_EQ(health::standbys_to_spare("*"), 1);
  EXPECT_EQ(health::standbys_to_spare("ANY 1 (*)"), 1);
  EXPECT_EQ(health::standbys_to_spare("a"), 0);
  EXPECT_EQ(health::standbys_to_spare("a, b"), 1);
  EXPECT_EQ(health::standbys_to_spare("1 (a)"), 0);
  EXPECT_EQ(health::standbys_to_spare("FIRST 2 (a, b)"), 0);
  EXPECT_EQ(health::standbys_to_spare("ANY 1 (a, b, c)"), 2);
}

TEST_F(Doctor, SaysWhoDoesThePeriodicJobsAndWhichFailOrAreLate) {
  postgres::DbSession sql = database_.as_superuser();
  EXPECT_THAT(reported({}), ContainsRegex("failure +maintenance +no daemon does"));
  sql.run_text(
      "INSERT INTO daemons (host, instance, version) VALUES ('one.example', 's', '1'); UPDATE "
      "maintainer SET daemon_id = (SELECT id FROM daemons), since = clock_timestamp()");
  EXPECT_THAT(reported({}), ContainsRegex("ok +maintenance +done by one.example s since 20"));
  sql.run_text(
      "UPDATE maintainer SET since = clock_timestamp() - interval '1 day'; INSERT INTO "
      "maintenance_jobs (job, period_ms, done_at, fault_at, fault, faults) VALUES "
      "('fails', 60000, clock_timestamp(), clock_timestamp() + interval '1 s', 'it is held', 3), "
      "('once', 60000, clock_timestamp(), clock_timestamp() + interval '1 s', 'it is held', 1), "
      "('failed', 60000, clock_timestamp(), clock_timestamp() - interval '1 s', 'it was held', 3), "
      "('late', 60000, clock_timestamp() - interval '310 s', NULL, NULL, 0), "
      "('not_late', 60000, clock_timestamp() - interval '290 s', NULL, NULL, 0)");
  std::string report = reported({});
  EXPECT_THAT(report,
              ContainsRegex("warning +maintenance +fails fails, 3 times so far: it is held"));
  EXPECT_THAT(report, HasSubstr("once fails, 1 time so far"));
  EXPECT_THAT(report, ContainsRegex("warning +maintenance +late was not done for 31[0-9] s"));
  EXPECT_THAT(report, Not(HasSubstr("failed fails")));
  EXPECT_THAT(report, Not(HasSubstr("not_late")));
}

TEST_F(Doctor, TellsOfAKeyFileThatIsNotTheOneOfTheOtherHosts) {
  std::string folder = testing::TempDir() + "doctor-" + to_hex(random_bytes(8));
  std::filesystem::create_directory(folder);
  for (const char* name : {"/ours", "/theirs"}) {
    std::ofstream(folder + name, std::ios::binary) << random_bytes(32);
    std::filesystem::permissions(folder + name, std::filesystem::perms::owner_read);
  }
  config::SecretBox theirs =
      std::get<config::SecretBox>(config::SecretBox::load(folder + "/theirs"));
  std::string id = "01900000-0000-7000-8000-000000000001";
  config::SealedSecret sealed = theirs.seal({id, "", "webhook"}, "of another host");
  database_.as_superuser().run_text(fmt::format(
      "INSERT INTO secrets (id, kind, key_version, wrapped_key, sealed) VALUES ('{}', 'webhook', "
      "{}, decode('{}', 'hex'), decode('{}', 'hex'))",
      id, sealed.key_version, to_hex(sealed.wrapped_key), to_hex(sealed.sealed)));
  EXPECT_THAT(reported({"HOSTLER_SECRETS_KEY_FILE=" + folder + "/ours"}),
              ContainsRegex("failure +secrets +of the newest 1, 1 cannot be opened"));
  EXPECT_THAT(reported({"HOSTLER_SECRETS_KEY_FILE=" + folder + "/theirs"}),
              ContainsRegex("ok +secrets +the newest opens"));
  std::filesystem::permissions(folder + "/theirs", std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  std::string report = reported({"HOSTLER_SECRETS_KEY_FILE=" + folder + "/theirs"});
  EXPECT_THAT(report, ContainsRegex("failure +key file +.*/theirs is open to everybody"));
  EXPECT_THAT(report, ContainsRegex("failure +secrets +some are stored, and none opens"));
  database_.as_superuser().run_text("UPDATE secrets SET key_version = 2");
  EXPECT_THAT(reported({"HOSTLER_SECRETS_KEY_FILE=" + folder + "/ours"}),
              ContainsRegex("failure +secrets +some need version 2 of .*: copy it from the host"));
  std::filesystem::permissions(folder + "/ours", std::filesystem::perms(0660));
  EXPECT_THAT(reported({"HOSTLER_SECRETS_KEY_FILE=" + folder + "/ours"}),
              ContainsRegex("warning +key file +its group may write .*/ours: chmod g-w"));
  std::filesystem::remove_all(folder);
}

TEST_F(Doctor, LooksForSecretsWithoutAKeyFileToo) {
  std::string report = reported({"HOSTLER_SECRETS_KEY_FILE=/nowhere/key"});
  EXPECT_THAT(report, ContainsRegex("failure +key file +/nowhere/key cannot be read"));
  EXPECT_THAT(report, ContainsRegex("ok +secrets +none is stored"));
}

TEST(DoctorWithoutADatabase, SaysSoInOneLineWithTheMend) {
  std::string report =
      run_ctl({"doctor"}, {"HOSTLER_DATABASE_URL=postgresql:///x?host=/nowhere"}).out;
  EXPECT_THAT(report, ContainsRegex("failure +database +connection [^\n]*; Is the server running"
                                    "[^\n]*: systemctl status postgresql"));
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line, ContainsRegex("^(ok|warning|failure) "));
  }
}

TEST_F(Doctor, SaysWhatMendsMailThatAFolderTakes) {
  EXPECT_THAT(reported({"HOSTLER_MAIL_DIR=/tmp"}),
              ContainsRegex("warning +mail +/tmp takes all mail, .*: empty mail.dir and set "));
}

TEST_F(Doctor, SaysOfWhatWasGivenUpWhereItIsListed) {
  EXPECT_THAT(reported({}),
              ContainsRegex("ok +outbox +no message waits for long, none has failed"));
  database_.as_superuser().run_text(
      "INSERT INTO outbox (kind, template, recipient, locale, fields, status, next_attempt_at) "
      "VALUES ('mail', 'x', 'a@example.org', 'en', '{}', 'failed', NULL)");
  EXPECT_THAT(reported({}), ContainsRegex("ok +outbox +no message waits for long; 1 have failed: "
                                          "hostlerctl outbox list --status failed"));
}

TEST_F(Doctor, SaysWhyTheMailServerTakesNoMail) {
  EXPECT_THAT(reported({}), Not(ContainsRegex(" mails +")));
  database_.as_superuser().run_text(
      "SELECT mail_queue('verify_email', 'ada@example.org', 'en', '{}')");
  auto waits = [&](const char* since, const char* fault) {
    database_.as_superuser().run_text(
        fmt::format("UPDATE outbox SET last_error = '554 5.7.1 Relay access denied', last_fault = "
                    "'{}', first_failed_at = now() - interval '{}'",
                    fault, since));
  };
  waits("1 minute", "other");
  EXPECT_THAT(reported({}), ContainsRegex("ok +mails +.* 1 of the mails .*Relay access denied"));
  waits("1 hour", "other");
  EXPECT_THAT(reported({}), ContainsRegex("warning +mails +.*tried for 36[0-9]+ s: 554 5.7.1 "));
  waits("1 minute", "without_login");
  EXPECT_THAT(reported({}), ContainsRegex("warning +mails +"));
}

TEST_F(Doctor, LooksAtEachHostOfTheAddress) {
  // The same server twice, by its socket: two that take writes.
  std::string folder = std::filesystem::path(TestDatabase::socket()).parent_path();
  std::string url = fmt::format("postgresql:///{}?host={},{}/nothing&user=postgres",
                                database_.name(), folder, folder);
  std::string report = run_ctl({"doctor"}, {"HOSTLER_DATABASE_URL=" + url}).out;
  EXPECT_THAT(report, ContainsRegex("warning +postgres [^ ]+ +leads, timeline 1, and waits for no "
                                    "standby"));
  EXPECT_THAT(report, ContainsRegex("warning +postgres [^ ]+/nothing +does not answer: .*nothing"));
  url = fmt::format("postgresql:///{}?host={},{}&user=postgres", database_.name(), folder, folder);
  report = run_ctl({"doctor"}, {"HOSTLER_DATABASE_URL=" + url}).out;
  EXPECT_THAT(report, ContainsRegex("failure +postgres +several hosts accept writes"));
}

TEST_F(Doctor, WarnsOfMailThatNobodyTakes) {
  EXPECT_THAT(reported({}), ContainsRegex("warning +mail +not configured"));
  database_.as_superuser().run_text(
      "SELECT mail_queue('verify_email', 'ada@example.org', 'en', '{}', NULL)");
  database_.as_superuser().run_text(
      "UPDATE outbox SET next_attempt_at = clock_timestamp() - interval '1 hour'");
  EXPECT_THAT(reported({}), ContainsRegex("warning +outbox +a message waits for 3[0-9]+ s"));
}

TEST_F(Doctor, SeesATransactionThatSomebodyElseLeavesOpen) {
  postgres::DbSession idle = database_.as_api();
  idle.begin();
  idle.run_text("SELECT 1");
  postgres::DbSession owner = database_.as_superuser();
  owner.run(query::BecomeOwner{});
  EXPECT_TRUE(eventually(5'000, [&] {
    return owner.run(query::DoctorDatabase{}).front().integer("transaction_s") >= 1;
  }));
}

// The output of nginx -T decides, not the files that were meant: a fake on the PATH prints it.
TEST_F(Doctor, ReadsNginxAsItRuns) {
  std::filesystem::path folder = testing::TempDir() + "doctor-" + to_hex(random_bytes(8));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "nginx") << "#!/bin/sh\ncat <<'T'\nworker_rlimit_nofile 20000;\n"
                                     "events {\n  worker_connections 768;\n}\n"
                                     "upstream hostler_api { }\n  fastcgi_keep_conn off;\n"
                                     "  ssl_certificate \"/nowhere/cert.pem\";\nT\n";
  std::filesystem::permissions(folder / "nginx", std::filesystem::perms::owner_all);
  std::string stated = run_program({"/usr/bin/env", "PATH=" + folder.string() + ":/usr/bin:/bin",
                                    build_folder() + "/hostlerctl", "doctor"},
                                   {"HOSTLER_DATABASE_URL=" + database_.superuser_url()})
                           .out;
  EXPECT_THAT(stated, ContainsRegex("warning +nginx +worker_connections 768"));
  EXPECT_THAT(stated, ContainsRegex("warning +nginx +fastcgi_keep_conn off"));
  EXPECT_THAT(stated, ContainsRegex("failure +certificate +/nowhere/cert.pem cannot be read"));
  std::filesystem::remove_all(folder);
}

// Renewed, and nginx was not told. Fakes on the PATH serve and read it.
TEST_F(Doctor, ComparesTheCertificateThatNginxServesWithItsFile) {
  std::filesystem::path folder = testing::TempDir() + "doctor-" + to_hex(random_bytes(8));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "nginx") << "#!/bin/sh\ncat <<'T'\nupstream hostler_api { }\n"
                                     "  listen 4711 ssl http2 default_server reuseport;\n"
                                     "  ssl_certificate \"/nowhere/cert.pem\";\nT\n";
  std::ofstream(folder / "openssl")
      << "#!/bin/sh\ncase \"$*\" in s_client*127.0.0.1:4711) name=$SERVED ;; *) name=new ;; esac\n"
         "printf -- '-----BEGIN CERTIFICATE-----\\n%s\\n-----END CERTIFICATE-----\\n' $name\n";
  for (const char* name : {"nginx", "openssl"})
    std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
  auto stated = [&](const std::string& served) {
    return run_program({"/usr/bin/env", "PATH=" + folder.string() + ":/usr/bin:/bin",
                        build_folder() + "/hostlerctl", "doctor"},
                       {"HOSTLER_DATABASE_URL=" + database_.superuser_url(), "SERVED=" + served})
        .out;
  };
  EXPECT_THAT(stated("old"), ContainsRegex("warning +certificate +nginx at 127.0.0.1:4711 serves"));
  EXPECT_THAT(stated("new"), Not(HasSubstr("nginx at 127.0.0.1:4711")));
  std::filesystem::remove_all(folder);
}

TEST_F(Doctor, WarnsOfAnAccessLogThatNobodyTakesAway) {
  std::filesystem::path folder = testing::TempDir() + "doctor-" + to_hex(random_bytes(8));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "access-2026-11-28T02:00:00+00:00.json") << "{}\n";
  const std::string setting = "HOSTLER_ACCESS_LOG_DIR=" + folder.string();
  EXPECT_THAT(reported({setting}), Not(HasSubstr("access log")));
  std::filesystem::last_write_time(
      folder / "access-2026-11-28T02:00:00+00:00.json",
      std::filesystem::file_time_type::clock::now() - std::chrono::minutes(20));
  EXPECT_THAT(reported({setting}),
              ContainsRegex("warning +access log .*: 1 file waiting, the oldest for 12"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hostler
