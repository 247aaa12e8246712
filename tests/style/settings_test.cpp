// The table of settings: each row says what it does and in what unit, so that the sample file, the
// admin API and the faults can say it too.
#include <gtest/gtest.h>

#include <cctype>
#include <regex>
#include <set>
#include <string>

#include "lib/config/settings_table.h"
#include "tests/style/source_text.h"

namespace hostler::style {
namespace {

TEST(Settings, SayWhatTheyDoInOneSentence) {
  for (const config::SettingRow& row : config::setting_rows) {
    EXPECT_GT(row.sentence.size(), 15u) << row.name;
    EXPECT_TRUE(row.sentence.ends_with('.')) << row.name;
  }
}

TEST(Settings, AreNamedOnceInTheFormSectionAndMember) {
  std::set<std::string_view> names;
  for (const config::SettingRow& row : config::setting_rows) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    bool is_dotted = std::count(row.name.begin(), row.name.end(), '.') == 1;
    EXPECT_TRUE(is_dotted) << row.name;
    for (char c : row.name) {
      bool is_plain = std::islower(static_cast<unsigned char>(c)) != 0 ||
                      std::isdigit(static_cast<unsigned char>(c)) != 0;
      EXPECT_TRUE(is_plain || c == '_' || c == '.') << row.name;
    }
  }
}

TEST(Settings, EndInTheUnitWhenTheyMeasureTime) {
  for (const config::SettingRow& row : config::setting_rows) {
    std::string_view end = row.unit == "seconds"        ? "_seconds"
                           : row.unit == "milliseconds" ? "_ms"
                           : row.unit == "days"         ? "_days"
                                                        : "";
    EXPECT_TRUE(row.name.ends_with(end)) << row.name;
    bool has_bounds = row.type != config::SettingType::integer || row.min < row.max;
    EXPECT_TRUE(has_bounds) << row.name << ": every number has its bounds";
  }
}

TEST(Settings, AreNotShownWhenTheyAreSecret) {
  for (const config::SettingRow& row : config::setting_rows) {
    bool sounds_secret =
        row.name.ends_with("_key") || row.name.ends_with("_pass") || row.name.ends_with("_secret");
    bool is_public = row.name == "captcha.site_key";  // shown to every browser
    EXPECT_EQ(row.is_secret, sounds_secret && !is_public) << row.name;
  }
}

// SQL reads those of `settings` that fcgi gives it, no other: what is not there would be null
// there.
TEST(Settings, ThatAccountFunctionsReadAreThoseThatTheyAreGiven) {
  static const std::regex look_up("settings ->> '([^']+)'");
  std::set<std::string> read, given;
  for (const SourceFile& file : source_tree()) {
    if (file.path == "fcgi/identity/session_answer.cpp") {
      for (const Piece& piece : take_apart(file.text).strings) {
        if (config::find_setting(piece.text) != config::setting_count) given.insert(piece.text);
      }
    }
    if (!file.path.starts_with("sql/schema/")) continue;
    std::sregex_iterator found(file.text.begin(), file.text.end(), look_up), end;
    for (; found != end; ++found) read.insert((*found)[1]);
  }
  EXPECT_EQ(read, given);
  EXPECT_TRUE(read.contains("limit.login_window_seconds"));
}

}  // namespace
}  // namespace hostler::style
