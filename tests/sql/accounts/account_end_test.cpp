// The end of accounts, from SQL: what it leaves behind, who may not go, and many at once.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "lib/error.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

class AccountEnd : public ::testing::Test {
 protected:
  ErrorCode code_of(const std::string& text) {
    try {
      postgres::DbSession session = database_.as_superuser();
      session.run_text(text);
    } catch (const Error& error) {
      return error.code;
    }
    return ErrorCode::count_;
  }
  std::string value(const std::string& text) { return fixture_.column(text); }
  std::string new_user(const std::string& login) {
    return value(
        fmt::format("SELECT new_user_id FROM register_user('{0}', '{0}@example.org', "
                    "'{0}@example.org', 'x', 'en', NULL, sha256('a{0}'), sha256('r{0}'), "
                    "'{{\"credit.initial_grant\": 5, "
                    "\"invite.default_max_uses\": 1, \"auth.access_token_seconds\": 900, "
                    "\"auth.refresh_token_seconds\": 900}}')",
                    login));
  }
  ErrorCode end(const std::string& user_id) {
    return code_of(fmt::format("SELECT user_delete('{}')", user_id));
  }
  std::string new_workspace(const std::string& slug) {
    return value(fmt::format(
        "INSERT INTO orgs (slug, name, type) VALUES ('{0}', '{0}', 'workspace') RETURNING id",
        slug));
  }
  void add_member(const std::string& org_id, const std::string& user_id, const std::string& role) {
    value(fmt::format(
        "INSERT INTO org_members (org_id, user_id, role) VALUES ('{}', '{}', '{}') RETURNING 1",
        org_id, user_id, role));
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(AccountEnd, LeavesNothingPersonalAndFreesLoginAndAddress) {
  std::string ada = new_user("otto");
  value(
      fmt::format("UPDATE sessions SET client_ip = '10.0.0.1', neighbourhood = '10.0.0.0/24', "
                  "user_agent = 'curl' WHERE user_id = '{}' RETURNING 1",
                  ada));
  value(fmt::format(
      "UPDATE users SET avatar_url = 'https://example.org/otto.png' WHERE id = '{}' RETURNING 1",
      ada));
  value("SELECT mail_queue('verify_email', 'OTTO@e.org', 'en', '{}', NULL, 'otto@example.org')");
  value(
      "INSERT INTO ip_rules (org_id, type, cidr, note) SELECT personal_org_id, 'allowlist', "
      "'192.0.2.7', 'home' FROM users WHERE login = 'otto' RETURNING 1");
  ASSERT_EQ(end(ada), ErrorCode::count_);
  EXPECT_EQ(value("SELECT count(*) FROM ip_rules"), "0");
  std::string row = value(fmt::format("SELECT u::text FROM users u WHERE id = '{}'", ada));
  EXPECT_EQ(row.find("otto"), row.npos) << row;
  EXPECT_NE(row.find("deleted"), row.npos);
  EXPECT_EQ(value("SELECT count(*) FROM user_names WHERE name_key = 'otto'"), "0");
  EXPECT_EQ(value(fmt::format("SELECT s::text FROM sessions s WHERE user_id = '{}' AND (revoked_at "
                              "IS NULL OR num_nonnulls(client_ip, neighbourhood) > 0 OR "
                              "user_agent <> '') UNION ALL SELECT 'none'",
                              ada)),
            "none");
  EXPECT_EQ(value("SELECT count(*) FROM access_tokens"), "0");
  EXPECT_EQ(value("SELECT count(*) FROM refresh_tokens"), "0");
  EXPECT_EQ(value("SELECT count(*) FROM orgs WHERE name LIKE '%otto%'"), "0");
  EXPECT_EQ(value("SELECT string_agg(status, ' ') FROM outbox WHERE recipient = ''"), "cancelled");
  EXPECT_EQ(value(fmt::format("SELECT is_active FROM invite_codes WHERE user_id = '{}'", ada)),
            "f");
  EXPECT_NE(new_user("otto"), ada);
  EXPECT_EQ(end(ada), ErrorCode::users_not_found);
}

// Mails, counters and invitations: no column has the address, in any row of any table.
TEST_F(AccountEnd, LeavesTheAddressNowhere) {
  std::string ada = new_user("ada");
  std::string work = new_workspace("work");
  auto prepare = [&] {
    for (const char* status : {"pending", "delivered", "failed"}) {
      value(fmt::format(
          "INSERT INTO outbox (kind, template, recipient, recipient_key, locale, fields, "
          "status, next_attempt_at, last_error) VALUES ('mail', 'invitation', "
          "'Ada@example.org', 'ada@example.org', 'en', '{{\"username\": \"ada\"}}', '{0}', CASE "
          "'{0}' WHEN 'pending' THEN now() END, '450 <ada@example.org> is busy') RETURNING 1",
          status));
    }
    for (const char* kind : {"otp.email", "otp.email_day", "invitations.to"})
      value(fmt::format(
          "INSERT INTO attempts (kind, subject) VALUES ('{}', 'ada@example.org') RETURNING 1",
          kind));
    for (const char* ended : {"accepted_at", "revoked_at", "ended_at", "created_at"})
      value(fmt::format(
          "INSERT INTO org_invitations (org_id, email, email_key, role, invited_by_user_id, "
          "token_hash, {0}) VALUES ('{1}', 'ADA@example.org', 'ada@example.org', 'member', '{2}', "
          "sha256(gen_random_uuid()::text::bytea), now()) RETURNING 1",
          ended, work, fixture_.owner_id));
  };
  prepare();
  value(fmt::format("UPDATE users SET email_verified_at = now() WHERE id = '{}' RETURNING 1", ada));
  ASSERT_EQ(end(ada), ErrorCode::count_);
  postgres::DbSession session = database_.as_superuser();
  session.run_text(
      "CREATE TABLE leaks (place text); DO $$ DECLARE t regclass; hits bigint; BEGIN "
      "FOR t IN SELECT c.oid FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = "
      "'public'::regnamespace AND c.relname <> 'leaks' LOOP "
      "EXECUTE format('SELECT count(*) FROM %s AS r WHERE r::text ILIKE ''%%ada@example.org%%''', "
      "t) "
      "INTO hits; IF hits > 0 THEN INSERT INTO leaks VALUES (t::text || ' ' || hits); END IF; "
      "END LOOP; END $$");
  EXPECT_EQ(value("SELECT coalesce(string_agg(place, ', '), 'none') FROM leaks"), "none");
  EXPECT_EQ(
      value("SELECT count(*) FROM org_invitations WHERE num_nonnulls(accepted_at, revoked_at, "
            "ended_at) = 1"),
      "4");
  // A user who did not prove that the address is theirs takes back nothing that others sent there.
  std::string other = new_user("ada");
  prepare();
  ASSERT_EQ(end(other), ErrorCode::count_);
  EXPECT_EQ(value("SELECT count(*) FROM org_invitations WHERE email ILIKE 'ada@%'"), "4");
  EXPECT_EQ(value("SELECT count(*) FROM attempts WHERE subject = 'ada@example.org'"), "3");
  EXPECT_EQ(value("SELECT count(*) FROM outbox WHERE recipient ILIKE 'ada@%'"), "3");
}

TEST_F(AccountEnd, EndsWhatThePersonalOrganizationCalled) {
  std::string ada = new_user("otto");
  std::string org = value(fmt::format("SELECT personal_org_id FROM users WHERE id = '{}'", ada));
  value(fmt::format(
      "WITH kept AS (INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed) "
      "SELECT uuidv7(), '{0}', k, 1, 'x', 'x' FROM unnest(ARRAY['webhook', 'tool']) AS k, "
      "generate_series(1, 2) RETURNING id, kind), firsts AS (SELECT kind, min(id::text)::uuid AS "
      "id, max(id::text)::uuid AS old_id FROM kept GROUP BY kind), e AS (INSERT INTO "
      "webhook_endpoints (org_id, url, events, secret_id) SELECT '{0}', 'https://x', "
      "'{{run.failed}}', id FROM firsts WHERE kind = 'webhook' RETURNING id), t AS (INSERT INTO "
      "tools (org_id, name, description, parameters, url, secret_id) SELECT '{0}', 'find', 'd', "
      "'{{}}', 'https://x', id FROM firsts WHERE kind = 'tool' RETURNING id), o AS (INSERT INTO "
      "webhook_old_secrets (secret_id, org_id, endpoint_id, until) SELECT f.old_id, '{0}', e.id, "
      "'infinity' FROM firsts f, e WHERE f.kind = 'webhook') INSERT INTO tool_old_secrets "
      "(secret_id, org_id, tool_id, until) SELECT f.old_id, '{0}', t.id, 'infinity' FROM firsts f, "
      "t WHERE f.kind = 'tool' RETURNING 1",
      org));
  ASSERT_EQ(end(ada), ErrorCode::count_);
  EXPECT_EQ(value(fmt::format("SELECT count(*) FROM secrets WHERE org_id = '{}'", org)), "0");
  EXPECT_EQ(value(fmt::format("SELECT (SELECT string_agg(enabled::text, ' ') FROM "
                              "webhook_endpoints WHERE org_id = '{0}' AND deleted_at IS NOT NULL) "
                              "|| ' ' || (SELECT count(*) FROM tools WHERE org_id = '{0}' AND "
                              "deleted_at IS NULL)",
                              org)),
            "false 0");
  value("SELECT webhook_prune(10)");
  EXPECT_EQ(value(fmt::format("SELECT count(*) FROM webhook_endpoints WHERE org_id = '{}'", org)),
            "0");
}

TEST_F(AccountEnd, EndsKeysAndMembershipsButKeepsThePersonalLedger) {
  std::string ada = new_user("ada");
  std::string work = new_workspace("work");
  add_member(work, fixture_.owner_id, "owner");
  add_member(work, ada, "owner");
  value(
      fmt::format("INSERT INTO api_keys (org_id, user_id, name, key_prefix, hash) VALUES "
                  "('{}', '{}', 'key', 'hst_', sha256('key')) RETURNING 1",
                  work, ada));
  ASSERT_EQ(end(ada), ErrorCode::count_);
  EXPECT_EQ(value("SELECT revoked_at IS NOT NULL FROM api_keys"), "t");
  EXPECT_EQ(value(fmt::format("SELECT count(*) FROM org_members WHERE org_id = '{}'", work)), "1");
  EXPECT_EQ(value(fmt::format("SELECT balance FROM credit_accounts WHERE org_id = (SELECT "
                              "personal_org_id FROM users WHERE id = '{}')",
                              ada)),
            "5");
}

TEST_F(AccountEnd, CancelsTheRunsThatNobodyExecutesAndAsksForTheOthers) {
  std::string first = fixture_.new_run(fixture_.new_thread());
  std::string daemon = fixture_.new_daemon("place");
  ASSERT_NE(fixture_.claim(daemon, first), 0);
  std::string thread = fixture_.new_thread();
  std::string second = fixture_.new_run(thread);
  std::string queued = fixture_.new_run(thread, "enqueue");
  add_member(fixture_.org_id, new_user("ada"), "owner");
  value(fmt::format("SELECT user_delete('{}')", fixture_.owner_id));
  EXPECT_EQ(value(fmt::format("SELECT status || ' ' || (cancel_requested_at IS NOT NULL) FROM runs "
                              "WHERE id = '{}'",
                              first)),
            "running true");
  for (const std::string& run : {second, queued}) {
    EXPECT_EQ(value(fmt::format("SELECT status FROM runs WHERE id = '{}'", run)), "cancelled");
    EXPECT_EQ(value(fmt::format("SELECT type || ' ' || data FROM run_events WHERE run_id = '{}' "
                                "ORDER BY seq DESC LIMIT 1",
                                run)),
              R"(run.cancelled {"reason" : "user_deleted"})");
  }
}

TEST_F(AccountEnd, KeepsTheLastOwnerOfAWorkspace) {
  std::string ada = new_user("ada");
  std::string work = new_workspace("work");
  add_member(work, ada, "owner");
  add_member(work, fixture_.owner_id, "admin");
  EXPECT_EQ(end(ada), ErrorCode::orgs_last_owner);
  EXPECT_EQ(value(fmt::format("SELECT status FROM users WHERE id = '{}'", ada)), "active");
}

// All at once, from as many sessions; how often each code came.
int count_ends(const TestDatabase& database, const std::vector<std::string>& statements,
               ErrorCode wanted) {
  std::atomic<int> count{0};
  std::vector<std::thread> threads;
  for (const std::string& statement : statements) {
    threads.emplace_back([&database, &count, statement, wanted] {
      postgres::DbSession session = database.as_superuser();
      try {
        session.run_text(statement);
      } catch (const Error& error) {
        if (error.code == wanted) ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return count;
}

TEST_F(AccountEnd, KeepsOneOfManyOwnersWhoLeaveAtOnce) {
  std::string work = new_workspace("work");
  std::vector<std::string> statements;
  for (int i = 0; i < 8; ++i) {
    std::string user = new_user(fmt::format("owner{}", i));
    add_member(work, user, "owner");
    statements.push_back(fmt::format("SELECT user_delete('{}')", user));
  }
  EXPECT_EQ(count_ends(database_, statements, ErrorCode::orgs_last_owner), 1);
  EXPECT_EQ(value(fmt::format("SELECT count(*) FROM org_members WHERE org_id = '{}'", work)), "1");
}

TEST_F(AccountEnd, KeepsOneOfManyAdministratorsWhoGoAtOnce) {
  std::vector<std::string> statements;
  for (int i = 0; i < 8; ++i) {
    std::string user = new_user(fmt::format("admin{}", i));
    value(fmt::format("SELECT user_promote('admin{}')", i));
    statements.push_back(i % 2 == 0
                             ? fmt::format("SELECT user_delete('{}')", user)
                             : fmt::format("SELECT user_set_status('{}', 'suspended')", user));
  }
  EXPECT_EQ(count_ends(database_, statements, ErrorCode::users_last_admin), 1);
  EXPECT_EQ(value("SELECT count(*) FROM users WHERE platform_admin AND status = 'active'"), "1");
}

// Otherwise the end of the only owner's account would see nobody to whom the workspace goes.
TEST_F(AccountEnd, HandsAWorkspaceOverToWhoJoinedItJustBefore) {
  std::string ada = new_user("ada"), cy = new_user("cy");
  std::string work = new_workspace("work");
  add_member(work, ada, "owner");
  value(fmt::format("UPDATE users SET email_verified_at = now() WHERE id = '{}' RETURNING 1", cy));
  value(fmt::format(
      "INSERT INTO org_invitations (org_id, email, email_key, role, invited_by_user_id, "
      "token_hash) VALUES ('{}', 'cy@example.org', 'cy@example.org', 'member', '{}', sha256('t')) "
      "RETURNING 1",
      work, ada));
  postgres::DbSession guest = database_.as_superuser();
  guest.begin();
  guest.run_text(fmt::format("SELECT set_config('hostler.user_id', '{}', true)", cy));
  guest.run_text("SELECT invitation_accept(sha256('t'))");
  std::string hold =
      fmt::format("SELECT 1 FROM orgs WHERE id = '{}' FOR NO KEY UPDATE NOWAIT", work);
  EXPECT_EQ(code_of(hold), ErrorCode::overload_busy) << "whoever changes members waits";
  guest.commit();
  value(fmt::format("SELECT workspaces_hand_over('{}', 7)", ada));
  EXPECT_EQ(value(fmt::format("SELECT string_agg(user_id || ' ' || role, ', ') FROM org_members "
                              "WHERE org_id = '{}'",
                              work)),
            cy + " owner");
}

// The state that a daemon finds while it is sending the mail.
TEST_F(AccountEnd, TakesAMailFromWhoeverSendsIt) {
  std::string ada = new_user("ada");
  std::string mail = value("SELECT mail_queue('verify_email', 'ada@example.org', 'en', '{}')");
  std::string daemon = fixture_.new_daemon("place");
  value(
      fmt::format("UPDATE outbox SET owner_id = '{}', epoch = 7, lease_until = now() + interval "
                  "'1 minute' WHERE id = '{}' RETURNING 1",
                  daemon, mail));
  ASSERT_EQ(end(ada), ErrorCode::count_);
  EXPECT_EQ(value(fmt::format("SELECT outbox_delivered('{}', '{}', 7, 250)", daemon, mail)), "f");
  EXPECT_EQ(value(fmt::format("SELECT outbox_failed('{}', '{}', 7, NULL, 'silent', NULL, false, "
                              "false)",
                              daemon, mail)),
            "f");
  EXPECT_EQ(value(fmt::format("SELECT concat_ws(' ', status, attempts, owner_id, lease_until, "
                              "next_attempt_at, last_error, delivered_at) FROM outbox WHERE id = "
                              "'{}'",
                              mail)),
            "cancelled 0");
}

TEST_F(AccountEnd, CountsNoSuspendedOwner) {
  std::string ada = new_user("ada"), bob = new_user("bob"), cy = new_user("cy");
  std::string work = new_workspace("work");
  add_member(work, ada, "owner");
  add_member(work, bob, "owner");
  add_member(work, cy, "member");
  ASSERT_EQ(code_of(fmt::format("SELECT user_set_status('{}', 'suspended')", bob)),
            ErrorCode::count_);
  EXPECT_EQ(end(ada), ErrorCode::orgs_last_owner);
  EXPECT_EQ(code_of(fmt::format("SELECT org_spare_owner('{}', '{}')", work, ada)),
            ErrorCode::orgs_last_owner);
  const std::string as_admin =
      "SELECT set_config('hostler.permissions', '{{platform_admin}}', false); "
      "SELECT admin_user_delete('{}', 7)";
  ASSERT_EQ(code_of(fmt::format(fmt::runtime(as_admin), ada)), ErrorCode::count_);
  EXPECT_EQ(value(fmt::format("SELECT string_agg(user_id || ' ' || role, ', ' ORDER BY user_id) "
                              "FROM org_members WHERE org_id = '{}'",
                              work)),
            fmt::format("{} owner, {} owner", bob, cy));
  // Nobody is left who could act: an administrator may delete anyway.
  EXPECT_EQ(code_of(fmt::format(fmt::runtime(as_admin), cy)), ErrorCode::count_);
}

// A user who writes holds off the end, and nobody else's; a reader holds off nothing.
TEST_F(AccountEnd, WaitsForWhatTheUserWrites) {
  std::string ada = new_user("ada");
  std::string bob = new_user("bob");
  const std::string authenticate =
      "SELECT user_id FROM authenticate(sha256('aada'), false, NULL, NULL, false, '{}')";
  const std::string suspend = "SET lock_timeout = '200ms'; SELECT user_set_status('{}', '{}')";
  postgres::DbSession writer = database_.as_superuser();
  writer.begin();
  EXPECT_EQ(writer.run_text(fmt::format(fmt::runtime(authenticate), R"({"writes":true})")).text(),
            ada);
  EXPECT_EQ(code_of(fmt::format(fmt::runtime(suspend), ada, "suspended")),
            ErrorCode::overload_busy);
  EXPECT_EQ(code_of(fmt::format(fmt::runtime(suspend), bob, "suspended")), ErrorCode::count_);
  postgres::DbSession other = database_.as_superuser();
  EXPECT_EQ(other.run_text(fmt::format(fmt::runtime(authenticate), R"({"writes":true})")).text(),
            ada);
  writer.commit();
  writer.begin();
  writer.run_text(fmt::format(fmt::runtime(authenticate), "{}"));
  EXPECT_EQ(code_of(fmt::format(fmt::runtime(suspend), ada, "suspended")), ErrorCode::count_);
  writer.commit();
  EXPECT_EQ(code_of(fmt::format(fmt::runtime(authenticate), R"({"writes":true})")),
            ErrorCode::auth_invalid_token);
}

TEST_F(AccountEnd, SuspendedCancelsRunsAndSaysWhy) {
  std::string owned = fixture_.new_run(fixture_.new_thread());
  std::string daemon = fixture_.new_daemon("place");
  ASSERT_NE(fixture_.claim(daemon, owned), 0);
  std::string free = fixture_.new_run(fixture_.new_thread());
  ASSERT_EQ(code_of(fmt::format("SELECT user_set_status('{}', 'suspended')", fixture_.owner_id)),
            ErrorCode::count_);
  EXPECT_EQ(
      value(fmt::format("SELECT status || ' ' || cancel_reason FROM runs WHERE id = '{}'", owned)),
      "running user_suspended");
  EXPECT_EQ(value(fmt::format("SELECT data ->> 'reason' FROM run_events WHERE run_id = '{}' AND "
                              "type = 'run.cancelled'",
                              free)),
            "user_suspended");
}

TEST_F(AccountEnd, SuspendsAndTakesBackAndSaysSo) {
  std::string ada = new_user("ada");
  ASSERT_EQ(code_of(fmt::format("SELECT user_set_status('{}', 'suspended')", ada)),
            ErrorCode::count_);
  ASSERT_EQ(code_of(fmt::format("SELECT user_set_status('{}', 'suspended')", ada)),
            ErrorCode::count_);
  EXPECT_EQ(value(fmt::format(
                "SELECT count(*) FROM sessions WHERE user_id = '{}' AND revoked_at IS NULL", ada)),
            "0");
  ASSERT_EQ(code_of(fmt::format("SELECT user_set_status('{}', 'active')", ada)), ErrorCode::count_);
  EXPECT_EQ(value(fmt::format("SELECT string_agg(action || ' ' || before_state || after_state, ', '"
                              " ORDER BY id) FROM audit_logs WHERE target_id = '{}' AND action "
                              "LIKE 'users.%'",
                              ada)),
            R"(users.suspend {"status": "active"}{"status": "suspended", "api_keys_revoked": 0}, )"
            R"(users.activate {"status": "suspended"}{"status": "active"})");
  ASSERT_EQ(end(ada), ErrorCode::count_);
  EXPECT_EQ(code_of(fmt::format("SELECT user_set_status('{}', 'active')", ada)),
            ErrorCode::users_not_found);
}

}  // namespace
}  // namespace hostler::testing_support
