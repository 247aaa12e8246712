// Stored settings: written by administrators only, audited, notified, and above file and variables
// in every program that reloads.
#include "lib/config/live_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/crypto.h"
#include "queries/access.h"
#include "queries/settings.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/database.h"

namespace hostler {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_support::TestDatabase;

class StoredSettings : public testing::Test {
 protected:
  StoredSettings()
      : box_(std::get<config::SecretBox>(config::SecretBox::parse(random_bytes(32)))),
        session_(database_.as_api()),
        live_(config::Settings()) {}

  // One transaction of an administrator, or of somebody else.
  postgres::Result as_admin(const postgres::BoundStatement& statement, bool is_admin = true) {
    session_.begin();
    std::string context = is_admin ? R"({"platform_admin":true})" : R"({"platform_admin":false})";
    session_.run(query::SetRequestContext{
        .org_id = std::nullopt, .user_id = std::nullopt, .context = context});
    postgres::Result result = session_.run(statement);
    session_.commit();
    return result;
  }
  void set(const std::string& key, const std::string& value) {
    as_admin(query::SettingSet{.key = key, .value = value, .secret = std::nullopt});
  }
  void set_secret(const std::string& key, const std::string& plain) {
    config::SecretIdentity identity{
        make_id(), "",
        config::setting_secret_kind(config::setting_rows[config::find_setting(key)])};
    as_admin(
        query::SettingSet{.key = key,
                          .value = std::nullopt,
                          .secret = config::secret_json(identity, box_.seal(identity, plain))});
  }
  std::shared_ptr<const config::Settings> reloaded() {
    live_.apply(session_.run(query::SettingsAll{}), box_);
    return live_.current();
  }
  std::string ask(const std::string& question) {
    return std::string(database_.as_superuser().run_text(question).text());
  }

  TestDatabase database_;
  config::SecretBox box_;
  postgres::DbSession session_;
  config::LiveSettings live_;
};

TEST_F(StoredSettings, StandAboveTheConfiguredOnesUntilTheyAreUnset) {
  set("auth.registration_mode", "\"disabled\"");
  set("http.cors_origins", "[\"https://a.example\"]");
  std::shared_ptr<const config::Settings> settings = reloaded();
  EXPECT_EQ(settings->text("auth.registration_mode"), "disabled");
  EXPECT_EQ(settings->source(config::find_setting("auth.registration_mode")),
            config::SettingSource::database);
  EXPECT_EQ(settings->strings("http.cors_origins").size(), 1u);
  as_admin(query::SettingUnset{.key = "auth.registration_mode"});
  EXPECT_EQ(settings->text("auth.registration_mode"), "disabled") << "a snapshot never changes";
  EXPECT_EQ(reloaded()->text("auth.registration_mode"), "open");
}

TEST_F(StoredSettings, AreWrittenByAdministratorsOnly) {
  postgres::BoundStatement set_it =
      query::SettingSet{.key = "run.input_seconds", .value = "5", .secret = std::nullopt};
  EXPECT_THROW(as_admin(set_it, false), Error);
  session_.rollback();
  EXPECT_THROW(as_admin(query::SettingUnset{.key = "run.input_seconds"}, false), Error);
  session_.rollback();
  EXPECT_THROW(session_.run_text("INSERT INTO settings (key, value) VALUES ('a', '1')"), Error);
  EXPECT_EQ(ask("SELECT count(*) FROM settings"), "0");
  EXPECT_THROW(database_.as_runner().run(set_it), Error);
}

TEST_F(StoredSettings, KeepSecretsSealedAndOpenThemWithTheKeyFile) {
  set_secret("captcha.secret_key", "hush-hush");
  EXPECT_EQ(reloaded()->text("captcha.secret_key"), "hush-hush");
  EXPECT_THAT(ask("SELECT string_agg(s::text || x::text, '') FROM settings s, secrets x"),
              Not(HasSubstr(to_hex("hush"))));
  config::SecretBox other = std::get<config::SecretBox>(config::SecretBox::parse(random_bytes(32)));
  live_.apply(session_.run(query::SettingsAll{}), other);
  EXPECT_EQ(live_.current()->text("captcha.secret_key"), "");
}

TEST_F(StoredSettings, DoNotOpenASecretUnderAnotherName) {
  set_secret("captcha.secret_key", "hush-hush");
  ask("UPDATE settings SET key = 'web_search.alpha_api_key' RETURNING 1");
  EXPECT_EQ(reloaded()->text("web_search.alpha_api_key"), "");
}

TEST_F(StoredSettings, LeaveNoSecretBehindWhenReplacedOrUnset) {
  set_secret("captcha.secret_key", "first");
  set_secret("captcha.secret_key", "second");
  EXPECT_EQ(ask("SELECT count(*) FROM secrets"), "1");
  EXPECT_EQ(reloaded()->text("captcha.secret_key"), "second");
  as_admin(query::SettingUnset{.key = "captcha.secret_key"});
  EXPECT_EQ(ask("SELECT count(*) FROM secrets"), "0");
}

TEST_F(StoredSettings, AreAuditedWithBothStatesButWithoutSecrets) {
  set("run.input_seconds", "5");
  set("run.input_seconds", "6");
  set_secret("captcha.secret_key", "hush-hush");
  as_admin(query::SettingUnset{.key = "captcha.secret_key"});
  as_admin(query::SettingUnset{.key = "captcha.site_key"});
  EXPECT_EQ(ask("SELECT string_agg(concat_ws(' ', action, target_type, target_id, before_state, "
                "after_state, "
                "org_id, result), E'\\n' ORDER BY id) FROM audit_logs"),
            "settings.set setting run.input_seconds {\"value\": 5} ok\n"
            "settings.set setting run.input_seconds {\"value\": 5} {\"value\": 6} ok\n"
            "settings.set setting captcha.secret_key {\"secret\": true} ok\n"
            "settings.unset setting captcha.secret_key {\"secret\": true} ok");
}

TEST_F(StoredSettings, AreLeftOutWhenThisProgramCannotUseThem) {
  set("run.slots", "1");
  set("of.tomorrow", "1");
  set("run.input_seconds", "-1");
  set("run.lease_seconds", "\"x\"");
  set("limit.agent_turns", "3");
  std::shared_ptr<const config::Settings> settings = reloaded();
  EXPECT_EQ(settings->integer("run.slots"), 2000) << "a start setting is not live";
  EXPECT_EQ(settings->integer("run.input_seconds"), 86400);
  EXPECT_EQ(settings->integer("run.lease_seconds"), 10);
  EXPECT_EQ(settings->integer("limit.agent_turns"), 3);
}

TEST_F(StoredSettings, NotifyOnTheChannelWhenTheyChange) {
  loop::Loop loop;
  postgres::Database listener(loop,
                              {.conninfo = database_.api_url(), .application_name = "listener"});
  bool is_listening = false;
  int notified = 0;
  listener.listen(
      {"hostler_settings"}, [&notified](std::string_view, std::string_view) { ++notified; },
      [&is_listening] { is_listening = true; });
  auto turns_until = [&loop](const std::function<bool()>& is_so) {
    return testing_support::eventually(10'000, [&] {
      loop.run_once();
      return is_so();
    });
  };
  ASSERT_TRUE(turns_until([&] { return is_listening; }));
  set("run.input_seconds", "5");
  EXPECT_TRUE(turns_until([&] { return notified == 1; })) << notified;
  as_admin(query::SettingUnset{.key = "run.input_seconds"});
  EXPECT_TRUE(turns_until([&] { return notified == 2; })) << notified;
}

}  // namespace
}  // namespace hostler
