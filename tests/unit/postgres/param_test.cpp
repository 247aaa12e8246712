// The structs of statements' parameters: what they hold, and what they do not let be written.
#include "lib/postgres/param.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

namespace hostler {
namespace {

namespace param = postgres::param;

// Statements in the form of sql/embed_queries.py.
constexpr postgres::Statement run_page{"test", "run_page", "SELECT $1, $2, $3, $4, $5", 5};
struct RunPage {
  param::Uuid thread_id;
  param::Optional<param::Text> status;
  param::Integer limit;
  param::Boolean is_open;
  param::Uuids run_ids;
  operator postgres::BoundStatement() && {
    return postgres::bound(run_page, {&thread_id, &status, &limit, &is_open, &run_ids});
  }
};

template <class T>
concept MayBeLeftAtThreadAlone = requires {
  T{.thread_id = "x"};
};
template <class T>
concept MayLeaveOutTheLast = requires {
  T{.thread_id = "x", .status = std::nullopt, .limit = 1, .is_open = true};
};
template <class T>
concept MayNameAll = requires {
  T{.thread_id = "x",
    .status = std::nullopt,
    .limit = 1,
    .is_open = true,
    .run_ids = param::Uuids::as_written("{}")};
};
static_assert(MayNameAll<RunPage>);
static_assert(!MayBeLeftAtThreadAlone<RunPage>, "a parameter that is left out must not compile");
static_assert(!MayLeaveOutTheLast<RunPage>);

static_assert(!std::is_default_constructible_v<param::Text>);
static_assert(!std::is_default_constructible_v<param::Json>);
static_assert(!std::is_default_constructible_v<param::Uuid>);
static_assert(!std::is_default_constructible_v<param::Bytes>);
static_assert(!std::is_default_constructible_v<param::Integer>);
static_assert(!std::is_default_constructible_v<param::Boolean>);
static_assert(!std::is_default_constructible_v<param::Uuids>);
static_assert(!std::is_default_constructible_v<param::Texts>);
static_assert(!std::is_default_constructible_v<param::Jsons>);
static_assert(!std::is_default_constructible_v<param::Integers>);
static_assert(!std::is_default_constructible_v<param::Optional<param::Text>>);

// One type is not taken for another, nor nothing for something.
static_assert(!std::is_convertible_v<bool, param::Integer>);
static_assert(!std::is_convertible_v<double, param::Integer>);
static_assert(!std::is_convertible_v<int, param::Boolean>);
static_assert(!std::is_convertible_v<const char*, param::Boolean>);
static_assert(!std::is_convertible_v<int, param::Text>);
static_assert(!std::is_convertible_v<std::nullptr_t, param::Text>);
static_assert(!std::is_convertible_v<std::optional<std::string>, param::Text>);
static_assert(!std::is_convertible_v<std::string, param::Optional<param::Integer>>);
static_assert(!std::is_convertible_v<RunPage&, postgres::BoundStatement>,
              "the values are moved out");

TEST(BoundStatement, HasTheParametersInTheirOrder) {
  postgres::BoundStatement page = RunPage{.thread_id = "0193",
                                          .status = std::optional<std::string>("failed"),
                                          .limit = 20,
                                          .is_open = true,
                                          .run_ids = param::Uuids::as_written("{}")};
  EXPECT_EQ(page.statement, &run_page);
  const std::vector<postgres::Params::Value>& values = page.params.values();
  ASSERT_EQ(values.size(), 5u);
  EXPECT_EQ(values[0].bytes, "0193");
  EXPECT_EQ(values[1].bytes, "failed");
  EXPECT_EQ(values[2].bytes, "20");
  EXPECT_EQ(values[3].bytes, "t");
  EXPECT_EQ(values[4].bytes, "{}");
  for (const postgres::Params::Value& value : values)
    EXPECT_FALSE(value.is_null || value.is_binary);
}

TEST(OptionalParameter, IsNullWithoutAValueOnly) {
  using Text = param::Optional<param::Text>;
  using Integer = param::Optional<param::Integer>;
  EXPECT_TRUE(Text(std::nullopt).is_null);
  EXPECT_TRUE(Text(std::optional<std::string>()).is_null);
  EXPECT_TRUE(Integer(std::optional<int64_t>()).is_null);
  EXPECT_FALSE(Text("").is_null);
  EXPECT_EQ(Text(std::string_view("a")).bytes, "a");
  EXPECT_EQ(Text(std::optional<std::string_view>("b")).bytes, "b");
  EXPECT_EQ(Integer(-3).bytes, "-3");
  EXPECT_EQ(Integer(std::optional<int>(0)).bytes, "0");
}

TEST(UuidParameter, IsTextOrTheBytesOfOne) {
  const std::string text = "0193a1fa-43ff-7506-ab81-ef7a33b2be1a";
  EXPECT_EQ(param::Uuid(text).bytes, text);
  EXPECT_FALSE(param::Uuid(text).is_binary);
  param::Uuid bytes(uuid_bytes(text));
  EXPECT_EQ(bytes.bytes.size(), 16u);
  EXPECT_TRUE(bytes.is_binary);
  EXPECT_EQ(param::Uuids(std::vector{text}).bytes,
            param::Uuids(std::vector{uuid_bytes(text)}).bytes);
}

}  // namespace
}  // namespace hostler
