// Bodies and queries of the API, read member by member: fcgi/http/input.h.
#include "fcgi/http/input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_request.h"

namespace hostler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using testing_support::json_request;
using testing_support::TestRequest;

// Error of reading the input, or ok().
struct Outcome {
  std::optional<Error> error;
  bool ok() const { return !error; }
  std::string code() const { return error ? std::string(error_row(error->code).name) : "none"; }
  // "field code" of each fault
  std::vector<std::string> faults() const {
    std::vector<std::string> list;
    if (!error) return list;
    for (const FieldFault& fault : error->faults) list.push_back(fault.field + " " + fault.code);
    return list;
  }
};

template <class Read>
Outcome outcome_of(Read read) {
  try {
    read();
  } catch (const Error& error) {
    return {error};
  }
  return {};
}

template <class Read>
Outcome of_body(std::string body, Read read) {
  TestRequest request = json_request(std::move(body));
  return outcome_of([&] {
    Fields fields = Fields::of_body(*request);
    read(fields);
    fields.check();
  });
}

template <class Read>
Outcome of_query(const std::string& query, Read read) {
  TestRequest request("GET", "/v1/runs?" + query);
  http::Target target;
  http::parse_target(request->uri, target);
  return outcome_of([&] {
    QueryFields parameters(target);
    read(parameters);
    parameters.check();
  });
}

Outcome of_typed_body(const std::string& content_type, std::string body) {
  TestRequest request("POST", "/", {{"CONTENT_TYPE", content_type}}, std::move(body));
  return outcome_of([&] { Fields::of_body(*request); });
}

TEST(Body, MustBeSentAsJson) {
  EXPECT_TRUE(of_typed_body("application/json", "{}").ok());
  EXPECT_TRUE(of_typed_body("Application/JSON; charset=utf-8", "{}").ok());
  EXPECT_TRUE(of_typed_body("application/json ;x=y", "{}").ok());
  for (const char* type :
       {"", "text/plain", "application/jsonx", "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=application/json"}) {
    Outcome outcome = of_typed_body(type, "{}");
    ASSERT_EQ(outcome.code(), "http.unsupported_media_type") << type;
    EXPECT_EQ(outcome.error->detail, "send Content-Type: application/json");
  }
}

TEST(Body, MustBeAnObjectWithoutAnythingBehindIt) {
  for (const char* body : {"", "[]", "1", "null", "\"x\"", "{}{}", "{", "{\"a\":1,\"a\":2}",
                           "{\"a\":\"\\u0000\"}", "\xEF\xBB\xBF{}", "{\"a\":\"\xC3\"}"}) {
    EXPECT_EQ(of_typed_body("application/json", body).code(), "http.bad_json") << body;
  }
}

std::string zeros(int count) {
  std::string list = "0";
  for (int i = 1; i < count; ++i) list += ",0";
  return R"({"a":[)" + list + "]}";
}

TEST(Body, HasAtMostTwentyThousandValues) {
  EXPECT_TRUE(of_typed_body("application/json", zeros(19'998)).ok()) << "with object and array";
  Outcome outcome = of_typed_body("application/json", zeros(19'999));
  ASSERT_EQ(outcome.code(), "http.bad_json");
  EXPECT_THAT(outcome.error->detail, HasSubstr("more than 20000 values at byte "));
}

TEST(Body, TellsTheOffsetOfItsFault) {
  Outcome outcome = of_typed_body("application/json", "{\"a\":1,}");
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error->detail, HasSubstr("at byte "));
  ASSERT_EQ(outcome.error->members.size(), 1u);
  EXPECT_EQ(outcome.error->members[0].first, "offset");
}

TEST(Body, MayBeAbsentWhereItIsOptional) {
  TestRequest nothing("POST", "/");
  Outcome outcome = outcome_of([&] {
    Fields fields = Fields::of_optional_body(*nothing);
    EXPECT_FALSE(fields.optional_text("title", {}).has_value());
    fields.check();
  });
  EXPECT_TRUE(outcome.ok());
  TestRequest untyped("POST", "/", {}, "{}");
  EXPECT_EQ(outcome_of([&] { Fields::of_optional_body(*untyped); }).code(),
            "http.unsupported_media_type");
}

TEST(Fields, CollectEveryFault) {
  Outcome outcome =
      of_body(R"({"title": 5, "limit": "x", "on": 1, "kind": "c", "id": "A"})", [](Fields& fields) {
        fields.required_text("name", {});
        fields.optional_text("title", {});
        fields.optional_integer("limit");
        fields.required_boolean("on");
        fields.required_choice("kind", {"a", "b"});
        fields.nullable_id("id");
        fields.nullable_time("at");
      });
  EXPECT_EQ(outcome.code(), "validation.error");
  EXPECT_THAT(outcome.faults(), ElementsAre("name required", "title wrong_type", "limit wrong_type",
                                            "on wrong_type", "kind unknown", "id bad_format"));
}

TEST(Fields, CountCharactersAndNotBytes) {
  auto read = [](Fields& fields) { fields.required_text("t", {.min = 2, .max = 3}); };
  EXPECT_TRUE(of_body(R"({"t": "日本語"})", read).ok());
  EXPECT_TRUE(of_body(R"({"t": "😀😀"})", read).ok());
  EXPECT_THAT(of_body(R"({"t": "日本語学"})", read).faults(), ElementsAre("t too_long"));
  EXPECT_THAT(of_body(R"({"t": "日"})", read).faults(), ElementsAre("t too_short"));
  EXPECT_THAT(of_body(R"({"t": ""})", read).faults(), ElementsAre("t required"));
}

TEST(Fields, CountBytesWhereTheContractSaysBytes) {
  auto read = [](Fields& fields) { fields.required_text("t", {.bytes_max = 6}); };
  EXPECT_TRUE(of_body(R"({"t": "日本"})", read).ok());
  EXPECT_THAT(of_body(R"({"t": "日本!"})", read).faults(), ElementsAre("t too_long"));
}

TEST(Fields, TrimOnlyWhereAsked) {
  of_body(R"({"a": " x\t", "b": " x"})", [](Fields& fields) {
    EXPECT_EQ(fields.required_text("a", {.trims = true}), "x");
    EXPECT_EQ(fields.required_text("b", {}), " x");
  });
  EXPECT_THAT(of_body(R"({"a": "  \n "})",
                      [](Fields& fields) { fields.required_text("a", {.min = 1, .trims = true}); })
                  .faults(),
              ElementsAre("a required"));
}

TEST(Fields, RefuseControlCharactersUnlessTheyAreText) {
  auto read = [](Fields& fields) {
    fields.required_text("line", {});
    fields.required_text("text", {.takes_control = true});
  };
  EXPECT_TRUE(of_body(R"({"line": "a", "text": "a\nb"})", read).ok());
  EXPECT_THAT(of_body(R"({"line": "a\nb", "text": "a\nb"})", read).faults(),
              ElementsAre("line bad_format"));
  for (const char* bad :
       {"\\u007f", "\\u0080", "\\u009f", "\\u202a", "\\u202e", "\\u2066", "\\u2069"}) {
    std::string body = std::string(R"({"line": "a)") + bad + R"(b", "text": ")" + bad + R"("})";
    EXPECT_THAT(of_body(body, read).faults(), ElementsAre("line bad_format")) << bad;
  }
  for (const char* good :
       {"\\u00a0", "\\u200e", "\\u200f", "\\u2029", "\\u202f", "\\u2065", "\\u206a", "é"}) {
    std::string body = std::string(R"({"line": "a)") + good + R"(b", "text": ""})";
    EXPECT_TRUE(of_body(body, read).ok()) << good;
  }
}

TEST(Fields, ReadWholeNumbersHoweverTheyAreWritten) {
  auto read = [](Fields& fields) { fields.required_integer("n", {1, 10}); };
  for (const char* body : {R"({"n": 10})", R"({"n": 1.0})", R"({"n": 1e0})", R"({"n": 0.1e2})"}) {
    EXPECT_TRUE(of_body(body, read).ok()) << body;
  }
  for (const char* body : {R"({"n": 1.5})", R"({"n": 1e-1})", R"({"n": "1"})", R"({"n": true})"}) {
    EXPECT_THAT(of_body(body, read).faults(), ElementsAre("n wrong_type")) << body;
  }
  for (const char* body : {R"({"n": 0})", R"({"n": 11})", R"({"n": -9223372036854775808})",
                           R"({"n": 9223372036854775808})", R"({"n": -1e30})"}) {
    EXPECT_THAT(of_body(body, read).faults(), ElementsAre("n out_of_range")) << body;
  }
}

TEST(Fields, ReadNumbersOfBothKinds) {
  of_body(R"({"a": 1, "b": 0.5})", [](Fields& fields) {
    EXPECT_EQ(fields.optional_number("a", {0, 2}), 1.0);
    EXPECT_EQ(fields.optional_number("b", {0, 2}), 0.5);
    EXPECT_EQ(fields.nullable_number("c", {0, 2}).is_given, false);
  });
  auto read = [](Fields& fields) { fields.optional_number("a", {0, 1}); };
  EXPECT_THAT(of_body(R"({"a": 1.5})", read).faults(), ElementsAre("a out_of_range"));
}

TEST(Fields, TellNullFromAbsentInAPatch) {
  of_body(R"({"title": null, "name": "x"})", [](Fields& fields) {
    Nullable<std::string> title = fields.nullable_text("title", {});
    EXPECT_TRUE(title.is_given);
    EXPECT_FALSE(title.value.has_value());
    Nullable<std::string> name = fields.nullable_text("name", {});
    EXPECT_EQ(name.value, "x");
    EXPECT_FALSE(fields.nullable_text("other", {}).is_given);
  });
}

TEST(Fields, OfAPatchMustHoldOneThatIsKnown) {
  auto patch = [](const char* body) {
    TestRequest request = json_request(body);
    return outcome_of([&] {
      Fields fields = Fields::of_body(*request);
      fields.nullable_text("title", {});
      fields.optional_boolean("enabled");
      fields.check_patch();
    });
  };
  EXPECT_TRUE(patch(R"({"title": null})").ok());
  EXPECT_TRUE(patch(R"({"enabled": true, "unknown": 1})").ok());
  for (const char* body : {"{}", R"({"unknown": 1})"}) {
    Outcome outcome = patch(body);
    EXPECT_EQ(outcome.code(), "validation.error") << body;
    EXPECT_THAT(outcome.error->detail, testing::StartsWith("send at least one of title, enabled"))
        << body;
  }
}

TEST(Fields, NameTheFaultyItemOfAnArray) {
  auto read = [](Fields& fields) {
    fields.required_texts("events", 3, {.min = 1, .max = 3});
    for (Fields& model : fields.optional_objects("models", 2)) model.required_text("name", {});
  };
  EXPECT_TRUE(of_body(R"({"events": ["a"], "models": [{"name": "x"}]})", read).ok());
  EXPECT_THAT(
      of_body(R"({"events": ["a", 5, "abcd"], "models": [{"name": "x"}, {}, 3]})", read).faults(),
      UnorderedElementsAre("events.1 wrong_type", "events.2 too_long", "models too_long"));
  EXPECT_THAT(
      of_body(R"({"events": "a", "models": [{}, 3]})", read).faults(),
      UnorderedElementsAre("events wrong_type", "models.0.name required", "models.1 wrong_type"));
}

TEST(Fields, ReadTimesAsUtc) {
  of_body(R"({"at": "2027-01-01T00:00:00+16:00", "to": "2026-11-20T15:04:05.25Z"})",
          [](Fields& fields) {
            EXPECT_EQ(fields.required_time("at"), "2026-12-31T08:00:00.000Z");
            EXPECT_EQ(fields.required_time("to"), "2026-11-20T15:04:05.250Z");
          });
}

TEST(Fields, TakeTimesWithAnyOffsetAndNoOtherForm) {
  auto read = [](Fields& fields) { fields.required_time("at"); };
  EXPECT_TRUE(of_body(R"({"at": "2026-11-20T15:04:05+02:00"})", read).ok());
  for (const char* body : {R"({"at": "2026-11-20"})", R"({"at": "2026-02-30T00:00:00Z"})",
                           R"({"at": ""})", R"({"at": "now"})"}) {
    EXPECT_THAT(of_body(body, read).faults(), ElementsAre("at bad_format")) << body;
  }
}

TEST(QueryOf, HasADefaultLimitAndItsBounds) {
  of_query("", [](QueryFields& query) { EXPECT_EQ(query.limit(), 50); });
  of_query("limit=200", [](QueryFields& query) { EXPECT_EQ(query.limit(), 200); });
  auto read = [](QueryFields& query) { query.limit(); };
  for (const char* text : {"limit=0", "limit=201", "limit=-1"}) {
    EXPECT_THAT(of_query(text, read).faults(), ElementsAre("limit out_of_range")) << text;
  }
  for (const char* text :
       {"limit=", "limit=x", "limit=1.5", "limit=+1", "limit=%201", "limit=99999999999999999999"}) {
    EXPECT_THAT(of_query(text, read).faults(), ElementsAre("limit wrong_type")) << text;
  }
}

TEST(QueryOf, RefusesParametersThatAreGivenTwice) {
  auto read = [](QueryFields& query) { query.limit(); };
  EXPECT_THAT(of_query("limit=5&limit=6", read).faults(), ElementsAre("limit doubled"));
  EXPECT_THAT(of_query("x=1&x=1&x=1", read).faults(), ElementsAre("x doubled"));
  EXPECT_TRUE(of_query("unknown=1", read).ok());
}

TEST(QueryOf, TakesCursorsThatAreIdsOnly) {
  auto read = [](QueryFields& query) { query.id("before"); };
  EXPECT_TRUE(of_query("before=019ac3a2-0000-7000-8000-000000000001", read).ok());
  for (const char* text : {"before=", "before=1", "before=019AC3A2-0000-7000-8000-000000000001"}) {
    EXPECT_THAT(of_query(text, read).faults(), ElementsAre("before bad_format")) << text;
  }
}

TEST(QueryOf, ReadsBooleansDatesAndChoices) {
  of_query("all=true&start=2024-02-29&scope=org", [](QueryFields& query) {
    EXPECT_EQ(query.boolean("all"), true);
    EXPECT_EQ(query.date("start"), "2024-02-29");
    EXPECT_EQ(query.choice("scope", {"platform", "org"}), "org");
  });
  EXPECT_THAT(of_query("all=1&start=2023-02-29&scope=x&at=x",
                       [](QueryFields& query) {
                         query.boolean("all");
                         query.date("start");
                         query.choice("scope", {"platform", "org"});
                         query.time("at");
                       })
                  .faults(),
              ElementsAre("all wrong_type", "start bad_format", "scope unknown", "at bad_format"));
}

TEST(QueryOf, IsEmptyWithoutAQuery) {
  EXPECT_THAT(
      of_query("&&", [](QueryFields& query) { EXPECT_FALSE(query.text("q", {})); }).faults(),
      IsEmpty());
}

}  // namespace
}  // namespace hostler
