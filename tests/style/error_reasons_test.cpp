// Tests what SQL raises against the table that has its words (lib/error_reasons.cpp), both ways:
// code, reason and the names of the facts. SQL itself tells no sentence, no field and no status.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>

#include "lib/error_reasons.h"
#include "tests/style/source_text.h"

namespace hostler::style {
namespace {

// A call in SQL: fail('runs.not_waiting', 'run_has_status', jsonb_build_object('status', …)).
struct Call {
  std::string place;     // path and line
  std::string function;  // that it stands in
  std::vector<std::string> arguments;
};

// Comments are blank, so that offsets and lines stay.
std::string without_comments(std::string sql) {
  for (size_t at = sql.find("--"); at != std::string::npos; at = sql.find("--", at)) {
    while (at < sql.size() && sql[at] != '\n') sql[at++] = ' ';
  }
  return sql;
}

// Returns what stands between the parenthesis before `from` and its partner, parted at its commas.
std::vector<std::string> arguments_at(const std::string& sql, size_t from) {
  std::vector<std::string> arguments(1);
  int depth = 1;
  bool is_quoted = false;
  for (size_t i = from; i < sql.size(); ++i) {
    if (sql[i] == '\'') is_quoted = !is_quoted;
    if (!is_quoted && sql[i] == '(') ++depth;
    if (!is_quoted && sql[i] == ')' && --depth == 0) break;
    if (!is_quoted && sql[i] == ',' && depth == 1) {
      arguments.emplace_back();
    } else {
      arguments.back() += sql[i];
    }
  }
  for (std::string& argument : arguments) argument = trimmed(argument);
  return arguments;
}

// The text in quotes; nothing for an expression.
std::string literal_of(const std::string& argument) {
  static const std::regex literal("'([a-z0-9_.]+)'");
  std::smatch found;
  return std::regex_match(argument, found, literal) ? found[1].str() : "";
}

struct Occurrence {
  std::string reason;
  std::vector<std::string> facts;
};

struct Raised {
  std::string place;
  std::string code;
  Occurrence occurrence;
};

// All errors that SQL raises, through functions that are given the code, too.
class RaisedErrors {
 public:
  explicit RaisedErrors(const std::vector<SourceFile>& sql) {
    for (const SourceFile& file : sql) texts_[file.path] = without_comments(file.text);
    find_parameters();
    collect("fail");
  }

  const std::vector<Raised>& all() const { return raised_; }
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  // Where each function that has a parameter `code` takes it.
  void find_parameters() {
    static const std::regex head(R"(\bFUNCTION (\w+)\()");
    for (const auto& [path, text] : texts_) {
      for (std::sregex_iterator at(text.begin(), text.end(), head), end; at != end; ++at) {
        size_t from = static_cast<size_t>(at->position() + at->length());
        std::vector<std::string> parameters = arguments_at(text, from);
        for (size_t i = 0; i < parameters.size(); ++i) {
          if (parameters[i].starts_with("code text")) takes_code_at_[(*at)[1].str()] = i;
        }
      }
    }
  }

  std::vector<Call> calls_of(const std::string& name) const {
    const std::regex call(R"(\bFUNCTION (\w+)\(|\b()" + name + R"()\()");
    std::vector<Call> calls;
    for (const auto& [path, text] : texts_) {
      std::string function;
      for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at) {
        if ((*at)[1].matched) {
          function = (*at)[1].str();
          continue;
        }
        size_t from = static_cast<size_t>(at->position() + at->length());
        std::string place = path + ":" + std::to_string(line_at(text, from));
        calls.push_back({place, function, arguments_at(text, from)});
      }
    }
    return calls;
  }

  // The errors of a call of fail(), told by its further arguments.
  Occurrence occurrence_of(const Call& call) {
    Occurrence occurrence;
    for (size_t i = 1; i < call.arguments.size(); ++i) {
      const std::string& argument = call.arguments[i];
      if (argument.starts_with("refused => ")) continue;
      const std::string build = "jsonb_build_object(";
      if (i == 1) occurrence.reason = literal_of(argument);
      bool is_well = i == 1 ? !occurrence.reason.empty() : i == 2 && argument.starts_with(build);
      if (!is_well) faults_.push_back(call.place + ": " + argument);
      if (i == 1 || !is_well) continue;
      std::vector<std::string> pairs = arguments_at(argument, build.size());
      for (size_t k = 0; k < pairs.size(); k += 2) occurrence.facts.push_back(literal_of(pairs[k]));
    }
    std::sort(occurrence.facts.begin(), occurrence.facts.end());
    return occurrence;
  }

  // The calls of a function that is given a code: each with a code raises what the function does
  // with it; one in a function that is given its code itself makes that one such a function.
  void collect(const std::string& name) {
    std::set<std::string> through;
    for (const Call& call : calls_of(name)) {
      std::vector<Occurrence> occurrences = by_function_[name];
      if (name == "fail") occurrences = {occurrence_of(call)};
      std::string code = literal_of(call.arguments.at(takes_code_at_.at(name)));
      for (const Occurrence& occurrence : occurrences) {
        if (!code.empty()) {
          raised_.push_back({call.place, code, occurrence});
        } else if (takes_code_at_.contains(call.function)) {
          by_function_[call.function].push_back(occurrence);
          through.insert(call.function);
        } else {
          faults_.push_back(call.place + ": a code that no test can read");
        }
      }
    }
    for (const std::string& function : through) collect(function);
  }

  std::map<std::string, std::string> texts_;
  std::map<std::string, size_t> takes_code_at_;
  std::map<std::string, std::vector<Occurrence>> by_function_;
  std::vector<Raised> raised_;
  std::vector<std::string> faults_;
};

RaisedErrors raised_in_tree() {
  std::vector<SourceFile> sql;
  for (const SourceFile& file : source_tree()) {
    if (file.path.starts_with("sql/schema/")) sql.push_back(file);
  }
  return RaisedErrors(sql);
}

const ErrorReason* row_of(const std::string& code, const std::string& reason) {
  for (const ErrorReason& row : error_reasons()) {
    if (error_row(row.code).name == code && row.name == reason) return &row;
  }
  return nullptr;
}

TEST(ErrorReasons, RaisedBySqlHaveARowWithTheSameFacts) {
  RaisedErrors raised = raised_in_tree();
  EXPECT_GT(raised.all().size(), 100u);
  for (const Raised& error : raised.all()) {
    const auto& [reason, facts] = error.occurrence;
    EXPECT_TRUE(error_code_named(error.code)) << error.place << ": " << error.code;
    if (reason.empty()) continue;
    const ErrorReason* row = row_of(error.code, reason);
    ASSERT_NE(row, nullptr) << error.place << ": lib/error_reasons.cpp has no row " << error.code
                            << " " << reason;
    std::vector<std::string_view> needed = facts_of(*row);
    EXPECT_EQ(facts, std::vector<std::string>(needed.begin(), needed.end()))
        << error.place << ": " << error.code << " " << reason;
  }
}

TEST(ErrorReasons, AreEachRaisedBySql) {
  std::set<std::string> seen;
  RaisedErrors errors = raised_in_tree();
  for (const Raised& error : errors.all()) {
    seen.insert(error.code + " " + error.occurrence.reason);
  }
  for (const ErrorReason& row : error_reasons()) {
    std::string raised = std::string(error_row(row.code).name) + " " + std::string(row.name);
    EXPECT_TRUE(seen.contains(raised)) << "no SQL raises " << raised << "; take its row out";
  }
}

TEST(ErrorReasons, AreNamesAndFactsInSqlAndNothingElse) {
  RaisedErrors raised = raised_in_tree();
  for (const std::string& fault : raised.faults()) {
    ADD_FAILURE() << fault << ": fail('code', 'reason', jsonb_build_object('fact', …))";
  }
}

TEST(ErrorReasons, StandOnceInTheOrderOfTheCodes) {
  const ErrorReason* last = nullptr;
  std::set<std::string_view> of_code;
  for (const ErrorReason& row : error_reasons()) {
    EXPECT_TRUE(std::regex_match(std::string(row.name), std::regex("[a-z][a-z_]*"))) << row.name;
    EXPECT_EQ(row.further.field.empty(), row.further.fault.empty()) << row.name;
    EXPECT_TRUE(last == nullptr || last->code <= row.code) << row.name;
    if (last == nullptr || last->code != row.code) of_code.clear();
    EXPECT_TRUE(of_code.insert(row.name).second) << error_row(row.code).name << " " << row.name;
    for (std::string_view fact : facts_of(row)) {
      EXPECT_TRUE(std::regex_match(std::string(fact), std::regex("[a-z][a-z_]*"))) << row.sentence;
    }
    last = &row;
  }
}

TEST(ErrorReasons, AreFoundInSql) {
  const std::vector<SourceFile> sql{{"a.sql", R"(
-- fail('no.code', 'in_a_comment')
CREATE FUNCTION fail(code text, reason text) AS $$ $$;
CREATE FUNCTION later(who uuid, code text) AS $$ PERFORM fail(code, 'not_yet',
    jsonb_build_object('wait_s', round(1, 2), 'at', 'a, b')); $$;
CREATE FUNCTION twice(code text) AS $$ PERFORM later(NULL, code); $$;
CREATE FUNCTION f() AS $$ PERFORM twice('a.b'); PERFORM later(me(1), 'c.d'); PERFORM fail('e.f');
    PERFORM fail('g.h', 'why', refused => whom(1, 2)); PERFORM fail('i.j', 'In words.');
    PERFORM fail('k.l', 'why', '{"status": 409}'); PERFORM fail(lower('M')); $$;)"}};
  RaisedErrors raised(sql);
  std::map<std::string, Occurrence> by_code;
  for (const Raised& error : raised.all()) by_code[error.code] = error.occurrence;
  EXPECT_EQ(by_code.size(), 6u);
  for (const char* code : {"a.b", "c.d"}) {
    EXPECT_EQ(by_code[code].reason, "not_yet");
    EXPECT_EQ(by_code[code].facts, (std::vector<std::string>{"at", "wait_s"}));
  }
  EXPECT_EQ(by_code["e.f"].reason, "");
  EXPECT_EQ(by_code["g.h"].reason, "why");
  EXPECT_EQ(raised.faults().size(), 3u) << "a sentence, facts in JSON, a code that is computed";
}

}  // namespace
}  // namespace hostler::style
