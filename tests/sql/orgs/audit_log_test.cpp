// The audit log from SQL: denials are counted once, months go whole, nothing in it names somebody
// who was deleted, and an older database is brought to it with its rows.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "lib/error.h"
#include "queries/access.h"
#include "queries/maintenance.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

constexpr const char* one_writer = "019ac3a2-7e10-7b42-9d0a-000000000001";

class AuditLog : public testing::Test {
 protected:
  // A denial of the owner, as the pool tells it; changes are JSON members that win.
  std::string denial(const std::string& changes = "{}") const {
    return fixture_.column(fmt::format(
        R"(SELECT jsonb_build_array('{{"org_id":"{}","user_id":"{}","api_key_hash":null,)"
        R"("route":"GET /v1/x/{{id}}","code":"auth.forbidden","target":"GET /v1/x/1",)"
        R"("trace_id":"t","client_ip":"192.0.2.1","user_agent":"u","count":1,)"
        R"("age_ms":0}}'::jsonb || '{}'))",
        fixture_.org_id, fixture_.owner_id, changes));
  }
  void tell(const std::string& writer, int64_t batch, const std::string& denials,
            int64_t dropped = 0) const {
    postgres::DbSession session = database_.as_api();
    session.run(query::AuditDenials{
        .writer_id = writer, .batch = batch, .denials = denials, .dropped = dropped});
  }
  std::string reported(const std::string& columns) const {
    return fixture_.column(
        "SELECT coalesce(string_agg(concat_ws(' ', " + columns +
        "), ', ' ORDER BY id), '') FROM audit_logs WHERE action LIKE 'access.%'");
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(AuditLog, CountsABatchThatComesAgainOnce) {
  tell(one_writer, 1, denial(R"({"count": 3, "age_ms": 0})"));
  tell(one_writer, 1, denial(R"({"count": 3, "age_ms": 0})"));
  EXPECT_EQ(reported("count, result, target_id, after_state"),
            R"(3 denied GET /v1/x/1 {"code": "auth.forbidden", "route": "GET /v1/x/{id}"})");
  tell(one_writer, 2, denial(R"({"count": 4, "target": "GET /v1/x/2"})"));
  // A minute may begin between the two: then they are two rows.
  EXPECT_EQ(fixture_.column("SELECT sum(count) FROM audit_logs WHERE action = 'access.denied'"),
            "7");
}

TEST_F(AuditLog, TellsCallersRoutesCodesAndMinutesApart) {
  const std::vector<std::string> others{
      "{}",
      fmt::format(R"({{"user_id": "{}"}})", fixture_.other_id),
      R"({"route": "GET /v1/y"})",
      R"({"code": "ip.blocked"})",
      R"({"user_id": null, "org_id": null})",
      R"({"age_ms": 60000})",
  };
  int64_t batch = 0;
  for (int round = 0; round < 2; ++round) {
    for (const std::string& changes : others) tell(one_writer, ++batch, denial(changes));
  }
  EXPECT_EQ(fixture_.column("SELECT sum(count) FROM audit_logs WHERE action = 'access.denied'"),
            "12");
  EXPECT_EQ(
      fixture_.column("SELECT count(DISTINCT (actor_user_id, after_state, date_trunc('minute', "
                      "created_at))) = count(*) AND count(*) >= 6 FROM audit_logs WHERE action "
                      "= 'access.denied'"),
      "t")
      << "one row for each of them in each minute";
}

TEST_F(AuditLog, CountsExactlyWhenManyWriteTheSameAtOnce) {
  std::vector<std::thread> writers;
  for (int i = 0; i < 8; ++i) {
    writers.emplace_back([this, i] {
      for (int64_t batch = 1; batch <= 20; ++batch) {
        tell(fmt::format("019ac3a2-7e10-7b42-9d0a-00000000001{}", i), batch,
             denial(R"({"count": 5, "age_ms": 0})"));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(fixture_.column("SELECT sum(count) FROM audit_logs WHERE action = 'access.denied'"),
            "800");
  EXPECT_EQ(fixture_.column("SELECT count(*) <= 2 FROM audit_logs WHERE action = 'access.denied'"),
            "t");
}

TEST_F(AuditLog, TellsHowManyWereDroppedInOneRow) {
  tell(one_writer, 1, "[]", 7);
  EXPECT_EQ(reported("action, count, result, org_id"), "access.denials_dropped 7 failed");
}

TEST_F(AuditLog, NamesTheKeyOfACaller) {
  std::string key_id = fixture_.column(fmt::format(
      "INSERT INTO api_keys (org_id, user_id, name, key_prefix, hash) VALUES ('{}', '{}', 'k', "
      "'hst_', sha256('key')) RETURNING id",
      fixture_.org_id, fixture_.owner_id));
  std::string hash = fixture_.column("SELECT encode(sha256('key'), 'hex')");
  tell(one_writer, 1, denial(fmt::format(R"({{"api_key_hash": "{}"}})", hash)));
  EXPECT_EQ(reported("actor_api_key_id"), key_id);
}

TEST_F(AuditLog, CutsTargetsThatAreLong) {
  std::string path(5000, 'x');
  tell(one_writer, 1, denial(fmt::format(R"({{"target": "{}"}})", path)));
  fixture_.column(fmt::format("SELECT audit('test.row', 'x', '{}')", path));
  EXPECT_EQ(fixture_.column("SELECT string_agg(length(target_id)::text, ' ') FROM audit_logs"),
            "200 200");
}

TEST_F(AuditLog, CutsStatesThatAreLong) {
  auto kept = [this](const std::string& state) {
    fixture_.column(fmt::format("SELECT audit('test.row', 'x', 'y', NULL, {0}, {0})", state));
    return fixture_.column(
        "SELECT concat_ws(' ', octet_length(after_state::text) <= 4200, after_state -> 'truncated',"
        " left(after_state ->> 'a', 3), after_state -> 'n', before_state = after_state) "
        "FROM audit_logs WHERE action = 'test.row' ORDER BY id DESC LIMIT 1");
  };
  EXPECT_EQ(kept(R"('{"a": "short", "n": 1}')"), "t sho 1 t");
  EXPECT_EQ(kept("jsonb_build_object('a', repeat('x', 287000), 'n', 1)"), "t true xxx 1 t");
  EXPECT_EQ(kept("jsonb_build_object('a', repeat('ä', 9000), 'n', 1)"), "t true äää 1 t");
  EXPECT_EQ(kept("jsonb_build_object('a', ARRAY(SELECT generate_series(1, 99999)), 'n', 1)"),
            "t true [1, 1 t");
  EXPECT_EQ(kept("(SELECT jsonb_object_agg('a' || i, repeat('x', 300)) FROM "
                 "generate_series(1, 5000) AS i)"),
            "t true t");
}

// Rows from before their states were cut: 60 MiB of them, of which a page takes 4.
TEST_F(AuditLog, AnswersAPageOfLargeRowsInLittleMemory) {
  fixture_.column(
      fmt::format("INSERT INTO audit_logs (org_id, action, after_state) SELECT '{}', 'test.row', "
                  "jsonb_build_object('a', repeat('x', 287000)) FROM generate_series(1, 220)",
                  fixture_.org_id));
  postgres::DbSession session = database_.as_superuser();
  fixture_.begin_as(session, fixture_.owner_id);
  auto memory_mib = [&session] {
    return session
        .run_text(
            "SELECT substring(pg_read_file('/proc/self/status') FROM "
            "'VmHWM:\\s+(\\d+)')::bigint / 1024 AS peak")
        .front()
        .integer("peak");
  };
  int64_t before = memory_mib();
  postgres::Result page = session.run_text(
      "SELECT json_array_length(body::json -> 'data')::bigint AS rows, octet_length(body) <= "
      "4200000 AS fits, (body::json ->> 'has_more')::boolean AS has_more, "
      "body::json ->> 'next_before' = body::json #>> '{data,-1,id}' AS goes_on "
      "FROM audit_page(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 200, NULL)");
  EXPECT_EQ(page.front().integer("rows"), 14);
  EXPECT_TRUE(page.front().boolean("fits"));
  EXPECT_TRUE(page.front().boolean("has_more"));
  EXPECT_TRUE(page.front().boolean("goes_on"));
  EXPECT_LT(memory_mib() - before, 150);
}

TEST_F(AuditLog, CutsAPageOfRowsAsPagesAreCut) {
  fixture_.column(fmt::format(
      "INSERT INTO audit_logs (org_id, action) SELECT '{}', 'test.row' FROM generate_series(1, 5)",
      fixture_.org_id));
  postgres::DbSession session = database_.as_superuser();
  fixture_.begin_as(session, fixture_.owner_id);
  auto page = [&session](int limit, const std::string& before) {
    return session.run_text(fmt::format(
        "SELECT concat_ws(' ', json_array_length(body::json -> 'data'), body::json -> 'has_more') "
        "AS told, coalesce(next::text, '') AS next FROM audit_page(NULL, 'test.row', NULL, NULL, "
        "NULL, NULL, NULL, {}, {})",
        limit, before.empty() ? "NULL" : "'" + before + "'"));
  };
  postgres::Result first = page(3, "");
  EXPECT_EQ(first.front().text("told"), "3 true");
  EXPECT_EQ(page(3, std::string(first.front().text("next"))).front().text("told"), "2 false");
  EXPECT_EQ(page(5, "").front().text("told"), "5 false");
}

TEST_F(AuditLog, TellsAFailedLoginByTheUserOrByAKeyedHash) {
  auto failed = [this](const std::string& candidate) {
    fixture_.column(
        fmt::format("SELECT set_request_context(NULL, NULL, '{{\"login_hmac\": \"ab12\"}}'), "
                    "audit_login_failed({}, 'otp')",
                    candidate));
    return fixture_.column(
        "SELECT concat_ws(' ', target_id, after_state, org_id) FROM audit_logs WHERE action = "
        "'auth.login' ORDER BY id DESC LIMIT 1");
  };
  EXPECT_EQ(failed("'" + fixture_.other_id + "'"), fixture_.other_id + R"( {"by": "otp"})");
  EXPECT_EQ(failed("NULL"), R"({"by": "otp", "login_hmac": "ab12"})");
}

TEST_F(AuditLog, ForgetsTheAddressesOfWhoIsDeleted) {
  for (const char* address : {"ZOE@example.org", "bob@example.org"}) {
    std::string id = fixture_.column(fmt::format(
        "INSERT INTO org_invitations (org_id, email, email_key, role, invited_by_user_id, "
        "token_hash) VALUES ('{0}', '{1}', lower('{1}'), 'member', '{2}', sha256('{1}')) "
        "RETURNING id",
        fixture_.org_id, address, fixture_.owner_id));
    for (const char* action : {"invitations.create", "invitations.revoke"}) {
      fixture_.column(
          fmt::format("SELECT audit('{}', 'invitation', '{}', NULL, {}"
                      "'{{\"email\": \"{}\", \"role\": \"member\"}}')",
                      action, id, action[12] == 'c' ? "NULL, " : "", address));
    }
  }
  fixture_.column(
      "UPDATE users SET email = 'zoe@example.org', "
      "email_key = 'zoe@example.org' WHERE login = 'owner'");
  auto found = [this] {
    fixture_.column(
        "SELECT audit_forget(CASE WHEN u.email_verified_at IS NOT NULL THEN name_key(u.email) END, "
        "name_key(u.email), u.personal_org_id, 1000) FROM users u WHERE login = 'owner'");
    return fixture_.column("SELECT count(*) FROM audit_logs WHERE audit_logs::text ILIKE '%zoe%'");
  };
  EXPECT_EQ(found(), "2") << "whoever did not prove that the address is theirs takes nothing out";
  fixture_.column("UPDATE users SET email_verified_at = now() WHERE login = 'owner'");
  EXPECT_EQ(found(), "0");
  EXPECT_EQ(fixture_.column("SELECT count(*) FROM audit_logs WHERE coalesce(after_state, "
                            "before_state) ->> 'email' = 'bob@example.org'"),
            "2");
  EXPECT_EQ(fixture_.column("SELECT count(*) FROM audit_logs WHERE coalesce(after_state, "
                            "before_state) ->> 'role' = 'member'"),
            "4");
}

TEST_F(AuditLog, ForgetsWhatTestMailsAndPersonalOrganizationsToldOfWhoIsDeleted) {
  fixture_.column(
      "UPDATE users SET email = 'zoe@example.org', email_verified_at = now() WHERE login = "
      "'owner'");
  for (const char* address : {"Zoe@example.org", "bob@example.org"}) {
    fixture_.column(fmt::format(
        "SELECT email_test_audit('{0}', 'RCPT failed: 550 <{0}> is unknown')", address));
  }
  std::string workspace = fixture_.column(
      "INSERT INTO orgs (slug, name, type) VALUES ('work', 'Work', 'workspace') RETURNING id");
  std::string personal = fixture_.column("SELECT personal_org_id FROM users WHERE login = 'owner'");
  for (const std::string& org : {personal, workspace}) {
    fixture_.column(
        fmt::format("SELECT audit('orgs.update', 'org', 'x', '{}', "
                    "'{{\"name\": \"zoe''s workspace\", \"type\": \"x\"}}', "
                    "'{{\"name\": \"home of zoe\", \"type\": \"x\"}}')",
                    org));
  }
  fixture_.column(
      "SELECT audit_forget(CASE WHEN u.email_verified_at IS NOT NULL THEN name_key(u.email) END, "
      "name_key(u.email), u.personal_org_id, 1000) FROM users u WHERE login = 'owner'");
  EXPECT_EQ(fixture_.column("SELECT string_agg(concat_ws(' ', action, before_state, after_state), "
                            "', ' ORDER BY id) FROM audit_logs WHERE audit_logs::text ILIKE "
                            "'%zoe%'"),
            R"(orgs.update {"name": "zoe's workspace", "type": "x"} )"
            R"({"name": "home of zoe", "type": "x"})")
      << "a workspace keeps what others named it";
  EXPECT_EQ(fixture_.column("SELECT string_agg(coalesce(after_state ->> 'to', '-'), ' ' ORDER BY "
                            "id) FROM audit_logs WHERE action = 'email.test'"),
            "- bob@example.org");
  EXPECT_EQ(fixture_.column("SELECT count(*) FROM audit_logs WHERE before_state ->> 'type' = 'x'"),
            "2");
}

class AuditRetention : public AuditLog {
 protected:
  int64_t prune(int64_t days) const {
    postgres::DbSession session = database_.as_runner();
    return session.run(query::AuditPrune{.audit_retention_days = days})[0].integer("dropped");
  }
  std::string months() const {
    return fixture_.column(
        "SELECT count(*) FROM pg_inherits WHERE inhparent = 'audit_logs'::regclass");
  }
};

TEST_F(AuditRetention, DropsAMonthOfWhichEveryRowIsTooOld) {
  EXPECT_EQ(months(), "4") << "this month and three ahead";
  // Pretends that the table was made three months ago.
  fixture_.column(
      "DO $$ DECLARE this_month name := 'audit_logs_' || to_char(now() AT TIME ZONE 'UTC', "
      "'YYYY_MM'); begins timestamptz := date_trunc('month', now(), 'UTC'); BEGIN EXECUTE "
      "format('ALTER TABLE audit_logs DETACH PARTITION %I', this_month); "
      "PERFORM range_partition_make('audit_logs', 'audit_logs_old', begins - interval '70 days', "
      "begins - interval '40 days'); PERFORM range_partition_make('audit_logs', 'audit_logs_last', "
      "begins - interval '40 days', begins); "
      "EXECUTE format('ALTER TABLE audit_logs ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', "
      "this_month, uuidv7_floor(begins), uuidv7_floor(begins + interval '1 month')); END $$");
  fixture_.column(
      "INSERT INTO audit_logs (id, action) SELECT uuidv7_at((extract(epoch FROM date_trunc("
      "'month', now(), 'UTC') - days * interval '1 day') * 1000000)::bigint), 'test.row' "
      "FROM unnest(ARRAY[50, 20]) AS days");
  EXPECT_EQ(prune(0), 0) << "for ever";
  EXPECT_EQ(prune(400), 0);
  EXPECT_EQ(prune(39), 1);
  EXPECT_EQ(prune(39), 0) << "younger rows stay";
  EXPECT_EQ(fixture_.column("SELECT count(*) FROM audit_logs WHERE action = 'test.row'"), "1");
}

TEST_F(AuditRetention, IsTheDaemonsAlone) {
  EXPECT_THROW(database_.as_api().run_text("SELECT audit_logs_prune(1)"), Error);
  EXPECT_THROW(database_.as_api().run_text("SELECT audit_logs_make_partitions()"), Error);
}

}  // namespace
}  // namespace hostler::testing_support
