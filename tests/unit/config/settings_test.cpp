// The table of settings, its readers, and how files and variables are laid on top of each other.
#include "lib/config/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lib/config/settings_load.h"
#include "lib/crypto.h"

namespace hostler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

config::LoadedSettings of_file(std::string_view text) {
  config::LoadedSettings loaded;
  config::read_settings_file(text, "h.toml", loaded);
  return loaded;
}

config::LoadedSettings of_environment(std::vector<std::string> variables) {
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  config::LoadedSettings loaded;
  config::read_settings_environment(environment.data(), loaded);
  return loaded;
}

config::SettingSource source_of(const config::Settings& settings, std::string_view name) {
  return settings.source(config::find_setting(name));
}

TEST(SettingsTable, HasEachNameOnceInItsSectionWithASentence) {
  std::vector<std::string_view> sections;
  for (size_t i = 0; i < config::setting_count; ++i) {
    const config::SettingRow& row = config::setting_rows[i];
    EXPECT_EQ(config::find_setting(row.name), i) << row.name;
    EXPECT_TRUE(row.sentence.ends_with('.')) << row.name;
    EXPECT_LE(row.min, row.max) << row.name;
    std::string_view section = row.name.substr(0, row.name.find('.'));
    bool is_new = sections.empty() || sections.back() != section;
    if (is_new) {
      EXPECT_THAT(sections, Not(testing::Contains(section)))
          << "the rows of a section stand together";
      sections.push_back(section);
    }
  }
}

TEST(SettingsTable, HasTheDefaultsOfTheContract) {
  config::Settings settings;
  EXPECT_EQ(settings.text("auth.registration_mode"), "open");
  EXPECT_FALSE(settings.boolean("auth.require_email_verification"));
  EXPECT_EQ(settings.integer("auth.access_token_seconds"), 900);
  EXPECT_EQ(settings.integer("auth.refresh_token_seconds"), 30 * 86400);
  EXPECT_EQ(settings.integer("credit.initial_grant"), 1000);
  EXPECT_EQ(settings.integer("limit.concurrent_runs"), 10);
  EXPECT_EQ(settings.integer("run.slots"), 2000);
  EXPECT_THAT(settings.strings("http.cors_origins"), IsEmpty());
}

TEST(SettingsFile, OverridesDefaultsByType) {
  config::LoadedSettings loaded = of_file(
      "[auth]\nregistration_mode = \"disabled\"\nrequire_email_verification = true\n"
      "[run]\nslots = 7\n[http]\ncors_origins = [\"https://a.example\", \"https://b.example\"]\n");
  EXPECT_THAT(loaded.faults, IsEmpty());
  EXPECT_EQ(loaded.settings.text("auth.registration_mode"), "disabled");
  EXPECT_TRUE(loaded.settings.boolean("auth.require_email_verification"));
  EXPECT_EQ(loaded.settings.integer("run.slots"), 7);
  EXPECT_THAT(loaded.settings.strings("http.cors_origins"),
              ElementsAre("https://a.example", "https://b.example"));
  EXPECT_EQ(source_of(loaded.settings, "run.slots"), config::SettingSource::file);
  EXPECT_EQ(source_of(loaded.settings, "run.lease_seconds"), config::SettingSource::fallback);
}

TEST(SettingsFile, NamesPlaceAndNearestNameOfAnUnknownKey) {
  config::LoadedSettings loaded = of_file("[api]\n  wokers = 3\n");
  EXPECT_THAT(loaded.faults, ElementsAre("h.toml:2:3: unknown setting api.wokers; did you mean "
                                         "api.workers?"));
  EXPECT_THAT(of_file("zebra = 1\n").faults, ElementsAre("h.toml:1:1: unknown setting zebra"));
}

TEST(SettingsFile, TellsEveryFaultWithNameBoundsAndUnit) {
  config::LoadedSettings loaded = of_file(
      "[run]\nslots = -1\nlease_seconds = \"x\"\ninput_seconds = 1.5\n[log]\nlevel = \"loud\"\n");
  EXPECT_EQ(loaded.faults.size(), 4u);
  EXPECT_THAT(loaded.faults,
              testing::Contains(AllOf(HasSubstr("h.toml:2:1: run.slots: -1 is out of"),
                                      HasSubstr("0 to 100000 runs"))));
  EXPECT_THAT(loaded.faults, testing::Contains(HasSubstr("2 to 300 seconds")));
  EXPECT_THAT(loaded.faults, testing::Contains(HasSubstr("\"debug\", \"info\"")));
}

TEST(SettingsFile, TellsWhereItIsNotToml) {
  EXPECT_THAT(of_file("[api]\nworkers = = 2\n").faults, ElementsAre(HasSubstr("h.toml:2:11: ")));
  // toml++ 3.3 has an assertion before its own words on these.
  EXPECT_THAT(of_file("[#api]\n").faults, ElementsAre(HasSubstr("h.toml:1:2: ")));
  EXPECT_THAT(of_file("[=\n").faults, ElementsAre(HasSubstr("h.toml:1:2: ")));
  EXPECT_THAT(of_file("[\1]\n").faults, ElementsAre(HasSubstr("h.toml:1:2: ")));
  EXPECT_THAT(of_file("\u01FD = 1\n").faults, ElementsAre(HasSubstr("h.toml:1:1: ")));
  EXPECT_THAT(of_file("a = 1\u01FD\n").faults, ElementsAre(HasSubstr("h.toml:1:")));
}

TEST(SettingsFile, RefusesATableOrADateForASetting) {
  EXPECT_THAT(of_file("[run.slots]\nx = 1\n").faults,
              ElementsAre(HasSubstr("run.slots: it must be")));
  EXPECT_THAT(of_file("[run]\nslots = 2026-01-01\n").faults, ElementsAre(HasSubstr("it must be")));
  EXPECT_THAT(of_file("[http]\ncors_origins = [1]\n").faults, ElementsAre(HasSubstr("it must be")));
}

TEST(SettingsFile, TakesOriginsAsBrowsersSendThemAlone) {
  auto faults_of = [](const std::string& origin) {
    return of_file("[http]\ncors_origins = [\"" + origin + "\"]\n").faults;
  };
  for (const char* origin : {"https://a.example", "https://a.example:80", "http://a.example:443",
                             "http://localhost:8000", "http://[::1]:8080", "https://a:8443"}) {
    EXPECT_THAT(faults_of(origin), IsEmpty()) << origin;
  }
  for (const char* origin : {"https://A.example", "https://a.example:443", "http://a.example:80",
                             "https://*.example", "https://a.example/", "a.example", "null"}) {
    EXPECT_THAT(faults_of(origin), ElementsAre(HasSubstr("it must be a list of scheme"))) << origin;
  }
}

TEST(SettingsEnvironment, WinsOverTheFileAndReadsEachType) {
  config::LoadedSettings loaded = of_file("[run]\nslots = 7\n");
  std::vector<std::string> variables = {
      "HOSTLER_RUN_SLOTS=9", "HOME=/root", "HOSTLER_HTTP_CORS_ORIGINS= https://a ,https://b,",
      "HOSTLER_AUTH_REQUIRE_EMAIL_VERIFICATION=true", "HOSTLER_MAIL_DIR="};
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  config::read_settings_environment(environment.data(), loaded);
  EXPECT_THAT(loaded.faults, IsEmpty());
  EXPECT_EQ(loaded.settings.integer("run.slots"), 9);
  EXPECT_THAT(loaded.settings.strings("http.cors_origins"), ElementsAre("https://a", "https://b"));
  EXPECT_TRUE(loaded.settings.boolean("auth.require_email_verification"));
  EXPECT_EQ(source_of(loaded.settings, "run.slots"), config::SettingSource::environment);
}

TEST(SettingsEnvironment, RefusesAVariableThatNamesNoSetting) {
  EXPECT_THAT(of_environment({"HOSTLER_RUN_SLOT=9"}).faults,
              ElementsAre("environment: HOSTLER_RUN_SLOT is not a setting; did you mean "
                          "HOSTLER_RUN_SLOTS?"));
}

TEST(SettingsEnvironment, MayHoldWhatCommandsOfTheConsoleTake) {
  EXPECT_THAT(of_environment({"HOSTLER_URL=https://h.example", "HOSTLER_TOKEN=t"}).faults,
              IsEmpty());
}

TEST(SettingsEnvironment, RefusesWhatIsNotOfTheType) {
  EXPECT_EQ(of_environment({"HOSTLER_RUN_SLOTS="}).faults.size(), 1u);
  EXPECT_EQ(of_environment({"HOSTLER_RUN_SLOTS=9x"}).faults.size(), 1u);
  EXPECT_EQ(of_environment({"HOSTLER_RUN_SLOTS=99999999999999999999"}).faults.size(), 1u);
  EXPECT_EQ(of_environment({"HOSTLER_AUTH_REQUIRE_EMAIL_VERIFICATION=yes"}).faults.size(), 1u);
  EXPECT_EQ(of_environment({"HOSTLER_MAIL_DIR=/a\nb"}).faults.size(), 1u);
}

TEST(SettingsForm, IsCheckedOfEachText) {
  EXPECT_EQ(of_environment({"HOSTLER_OUTBOUND_ALLOW_CIDRS=127.0.0.0/8,::1"}).faults.size(), 0u);
  EXPECT_EQ(of_environment({"HOSTLER_OUTBOUND_ALLOW_CIDRS=127.0.0.0/8,banana"}).faults.size(), 1u);
  EXPECT_EQ(of_environment({"HOSTLER_HTTP_CORS_ORIGINS=https://a.example:1"}).faults.size(), 0u);
  for (std::string origin :
       {"*", "https://", "https://a/", "a.example", "ftp://a", "https://u@a", "https://a:0",
        "https://a:65536", "https://a:99999999999", "https://a:", "https://a:1x", "https://:1"}) {
    EXPECT_EQ(of_environment({"HOSTLER_HTTP_CORS_ORIGINS=" + origin}).faults.size(), 1u) << origin;
  }
  EXPECT_EQ(of_environment({"HOSTLER_CAPTCHA_VERIFY_URL=http://[::1]:9/x?y"}).faults.size(), 0u);
  EXPECT_EQ(of_environment({"HOSTLER_CAPTCHA_VERIFY_URL="}).faults.size(), 0u);
  EXPECT_EQ(of_environment({"HOSTLER_CAPTCHA_VERIFY_URL=file:///etc"}).faults.size(), 1u);
  EXPECT_EQ(of_environment({"HOSTLER_CAPTCHA_VERIFY_URL=https://a:99999/x"}).faults.size(), 1u);
  EXPECT_EQ(of_environment({"HOSTLER_CAPTCHA_VERIFY_URL=https://[::1]:0/x"}).faults.size(), 1u);
  EXPECT_EQ(of_environment({"HOSTLER_CAPTCHA_VERIFY_URL=https://a:65535/x:99999"}).faults.size(),
            0u);
}

TEST(SettingsFault, NeverRepeatsASecret) {
  config::LoadedSettings loaded = of_environment({"HOSTLER_CAPTCHA_SECRET_KEY=hush\nhush"});
  ASSERT_EQ(loaded.faults.size(), 1u);
  EXPECT_THAT(loaded.faults[0], Not(HasSubstr("hush")));
  EXPECT_THAT(of_file("[captcha]\nsecret_key = 12345\n").faults[0], Not(HasSubstr("12345")));
}

TEST(SettingsPrint, IsAFileThatSaysTheSame) {
  config::LoadedSettings loaded = of_file(
      "[auth]\nregistration_mode = \"disabled\"\n[http]\ncors_origins = "
      "[\"https://ä.example:8443\"]\n"
      "[run]\nslots = 7\n[log]\nlevel = \"debug\"\n");
  ASSERT_THAT(loaded.faults, IsEmpty());
  config::LoadedSettings again = of_file(config::print_settings(loaded.settings));
  EXPECT_THAT(again.faults, IsEmpty());
  for (size_t i = 0; i < config::setting_count; ++i) {
    EXPECT_EQ(again.settings.value(i), loaded.settings.value(i)) << config::setting_rows[i].name;
  }
}

TEST(SettingsPrint, NamesEverySettingAndMasksSecrets) {
  config::LoadedSettings loaded = of_environment(
      {"HOSTLER_CAPTCHA_SECRET_KEY=hush", "HOSTLER_DATABASE_URL=postgresql://u:hush@h/d"});
  std::string text = config::print_settings(loaded.settings);
  EXPECT_THAT(text, Not(HasSubstr("hush")));
  EXPECT_THAT(text, HasSubstr("#secret_key = \"****\""));
  EXPECT_THAT(text, HasSubstr("\n#url = \"postgresql://u:****@h/d\""));
  for (const config::SettingRow& row : config::setting_rows)
    EXPECT_THAT(text, HasSubstr(config::setting_variable(row)));
}

TEST(WithoutPassword, HidesItInEveryForm) {
  for (std::string_view conninfo :
       {"postgresql://u:hush@h/d", "postgresql://u:h@ush@h/d", "postgres://h/d?password=hush&x=1",
        "host=h password=hush dbname=d", "host=h password = 'hush hush' dbname=d", "password='hush",
        "password=hush", "postgresql://u:h?ush@h/d", "host=h password=h&ush dbname=d",
        R"(host=h password='h\'ush' dbname=d)", R"(host=h password=h\ ush dbname=d)",
        "host=h\tpassword\t=\thush\tdbname=d"}) {
    EXPECT_THAT(config::without_password(conninfo), Not(HasSubstr("ush"))) << conninfo;
  }
  EXPECT_EQ(config::without_password("postgresql://h:5433/d"), "postgresql://h:5433/d");
  EXPECT_EQ(config::without_password("postgresql:///d?host=/a@b:c"), "postgresql:///d?host=/a@b:c");
}

class SettingsFolder : public testing::Test {
 protected:
  SettingsFolder() : folder_(testing::TempDir() + "hostler-" + to_hex(random_bytes(8))) {
    std::filesystem::create_directories(folder_ + "/conf.d");
  }
  ~SettingsFolder() override { std::filesystem::remove_all(folder_); }
  config::LoadedSettings load() {
    char* none = nullptr;
    return config::load_settings(folder_ + "/hostler.toml", &none);
  }
  void write(const std::string& name, std::string_view text) {
    std::ofstream(folder_ + "/" + name) << text;
  }
  std::string folder_;
};

TEST_F(SettingsFolder, LaysConfDOnTopInOrderOfNames) {
  write("hostler.toml", "[run]\nslots = 1\nlease_seconds = 5\n");
  write("conf.d/20.toml", "[run]\nslots = 3\n");
  write("conf.d/10.toml", "[run]\nslots = 2\n");
  write("conf.d/30.txt", "not toml");
  config::LoadedSettings loaded = load();
  EXPECT_THAT(loaded.faults, IsEmpty());
  EXPECT_EQ(loaded.settings.integer("run.slots"), 3);
  EXPECT_EQ(loaded.settings.integer("run.lease_seconds"), 5);
}

TEST_F(SettingsFolder, RefusesADatabaseThatNobodyCouldConnectTo) {
  write("hostler.toml", "[database]\nurl = \"postgresql://u:50%hush@h/d\"\n");
  config::LoadedSettings loaded = load();
  ASSERT_EQ(loaded.faults.size(), 1u);
  EXPECT_THAT(loaded.faults[0], HasSubstr("hostler.toml:2:1: database.url: it must be "));
  EXPECT_THAT(loaded.faults[0], Not(HasSubstr("hush")));
}

TEST_F(SettingsFolder, NeedsTheFileThatIsNamed) {
  EXPECT_THAT(load().faults, ElementsAre(HasSubstr("hostler.toml: cannot be read: No such file")));
}

TEST_F(SettingsFolder, TakesAnEmptyFileAndRefusesAFolder) {
  write("hostler.toml", "");
  EXPECT_THAT(load().faults, IsEmpty());
  std::filesystem::create_directories(folder_ + "/conf.d/x.toml");
  EXPECT_THAT(load().faults, ElementsAre(HasSubstr("x.toml: cannot be read")));
}

TEST_F(SettingsFolder, NeedsNoConfDButReadsTheOneThereIs) {
  write("hostler.toml", "");
  std::filesystem::remove_all(folder_ + "/conf.d");
  EXPECT_THAT(load().faults, IsEmpty());
  write("conf.d", "");
  EXPECT_THAT(load().faults, ElementsAre(HasSubstr("conf.d: cannot be read: Not a directory")));
}

TEST_F(SettingsFolder, RefusesAPortWithoutPeers) {
  write("hostler.toml", "[api]\nlisten_tcp = \"10.0.0.1:9000\"\n");
  EXPECT_THAT(load().faults, ElementsAre(HasSubstr("api.tcp_peers")));
}

TEST_F(SettingsFolder, RefusesAPortThatIsNone) {
  write("hostler.toml", "[stream]\nlisten_tcp = \"db:9000\"\ntcp_peers = [\"10.0.0.0/8\"]\n");
  EXPECT_THAT(load().faults, ElementsAre(HasSubstr("stream.listen_tcp: it must be address:port")));
}

}  // namespace
}  // namespace hostler
