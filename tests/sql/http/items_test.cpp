// JSON made of columns (fcgi/http/items.h): the text that Postgres would write of the same values.
#include "fcgi/http/items.h"

#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "lib/error.h"
#include "lib/json.h"
#include "tests/support/rigs/database.h"

namespace hostler::testing_support {
namespace {

class Items : public testing::Test {
 protected:
  ItemPage page(const std::string& text, const PageShape& shape) {
    postgres::Statement statement{"test", "page", text.c_str(), 0};
    return item_page(session_.run(postgres::BoundStatement{&statement, {}, true}), shape);
  }
  // All rows of a table expression, whose one column is v.
  std::string ours(const std::string& rows) {
    return page("SELECT v FROM " + rows, {.limit = 100'000}).body;
  }
  // The same by Postgres, whose form of a value an expression tells.
  std::string by_postgres(const std::string& rows, const std::string& value) {
    return std::string(session_
                           .run_text("SELECT '[' || string_agg('{\"v\":' || coalesce((" + value +
                                     ")::text, 'null') || '}', ',') || ']' FROM " + rows)
                           .text());
  }

  TestDatabase database_;
  postgres::DbSession session_ = database_.as_api();
};

TEST_F(Items, WriteNumbersAsPostgresDoes) {
  for (const std::string& rows : std::vector<std::string>{
           "unnest('{0,-0,1,-1,0.1,0.25,1e-3,1e-4,0.00012345,0.00009999,1e-5,1.5e-7,99999,1e14,"
           "123456789012345,999999999999999,1e15,1e16,1.7976931348623157e308,5e-324,NULL}'::"
           "float8[]) AS v",
           "(SELECT exp(n / 50.0::float8 - 40) / 3 AS v FROM generate_series(0, 3750) AS n) AS a",
           "(SELECT n::float8 / 1e9 AS v FROM generate_series(1, 2000000, 997) AS n) AS a",
           "unnest('{0,-9223372036854775808,9223372036854775807,NULL}'::bigint[]) AS v",
           "unnest('{-2147483648,2147483647}'::integer[]) AS v",
           "unnest('{-32768,32767}'::smallint[]) AS v"}) {
    EXPECT_EQ(ours(rows), by_postgres(rows, "v")) << rows;
  }
}

TEST_F(Items, WriteTextAsPostgresDoes) {
  for (const std::string& rows : std::vector<std::string>{
           "(SELECT chr(n) || 'x' || chr(n) AS v FROM generate_series(1, 700) AS n) AS a",
           R"(unnest(ARRAY['', 'say "yes"\no', E'\u20AC and \U0001F600', NULL]) AS v)"}) {
    EXPECT_EQ(ours(rows), by_postgres(rows, "to_json(v)")) << rows;
  }
}

TEST_F(Items, WriteTimesIdsAndTheRestAsPostgresDoes) {
  std::string times =
      "unnest('{0001-01-01T00:00:00Z,1969-12-31T23:59:59.9995Z,1970-01-01T00:00:00Z,2000-02-29T12:"
      "34:56.789999Z,"
      "1999-12-31T23:59:59.999Z,9999-12-31T23:59:59.999999Z,NULL}'::timestamptz[]) AS v";
  EXPECT_EQ(ours(times), by_postgres(times, "'\"' || rfc3339(v) || '\"'"));
  std::string clock = "(SELECT clock_timestamp() AS v) AS a";
  EXPECT_EQ(ours(clock).size(), by_postgres(clock, "'\"' || rfc3339(v) || '\"'").size());
  std::string ids =
      "unnest('{00000000-0000-0000-0000-000000000000,"
      "01a20689-2373-7995-b5c9-8468c21ea4ff,NULL}'::uuid[]) AS v";
  EXPECT_EQ(ours(ids), by_postgres(ids, "to_json(v)"));
  std::string flags = "unnest('{t,f,NULL}'::boolean[]) AS v";
  EXPECT_EQ(ours(flags), by_postgres(flags, "v::text"));
  std::string json = R"(unnest(ARRAY['{"a" :[1,  2]}', NULL, '"x"']::json[]) AS v)";
  EXPECT_EQ(ours(json), by_postgres(json, "v"));
  std::string jsonb = R"(unnest(ARRAY['{"a" :[1,  2]}', NULL, '"x"']::jsonb[]) AS v)";
  EXPECT_EQ(ours(jsonb), by_postgres(jsonb, "v"));
}

TEST_F(Items, AreObjectsOfAllColumnsInTheirOrder) {
  postgres::Statement statement{"test", "one",
                                R"(SELECT 'x'::text AS "b ""c""", NULL::uuid AS a, 1 AS n)", 0};
  EXPECT_EQ(item_json(session_.run(postgres::BoundStatement{&statement, {}, true})),
            R"({"b \"c\"":"x","a":null,"n":1})");
}

TEST_F(Items, HaveNoFormForATypeThatClientsNeverSaw) {
  EXPECT_THROW(ours("unnest('{1.50}'::numeric[]) AS v"), Error);
}

TEST_F(Items, AreWhatPostgresMadeWhenItMadeThem) {
  ItemPage made = page(
      "SELECT lpad(n::text, 32, '0')::uuid AS id, json_build_object('n', n) AS item FROM "
      "generate_series(1, 3) AS n",
      {.limit = 2});
  EXPECT_EQ(made.body, R"([{"n" : 1},{"n" : 2}])");
  EXPECT_EQ(made.next, "00000000-0000-0000-0000-000000000002");
}

std::string id_of(int n) { return fmt::format("00000000-0000-0000-0000-{:012}", n); }

// Rows with ids 1 to count, each with a text of so many bytes.
std::string rows_of(int count, int bytes) {
  return fmt::format(
      "SELECT lpad(n::text, 32, '0')::uuid AS id, repeat('\"', {}) AS content FROM "
      "generate_series(1, {}) AS n",
      bytes, count);
}

TEST_F(Items, MakeAPageOfOneLessThanWasRead) {
  ItemPage all = page(rows_of(2, 0), {.limit = 2});
  EXPECT_EQ(all.body, fmt::format(R"([{{"id":"{}","content":""}},{{"id":"{}","content":""}}])",
                                  id_of(1), id_of(2)));
  EXPECT_EQ(all.next, "");
  ItemPage first = page(rows_of(3, 0), {.limit = 2});
  EXPECT_EQ(first.body, all.body);
  EXPECT_EQ(first.next, id_of(2));
  ItemPage reversed = page(rows_of(3, 0), {.limit = 2, .is_reversed = true});
  EXPECT_EQ(reversed.body, fmt::format(R"([{{"id":"{}","content":""}},{{"id":"{}","content":""}}])",
                                       id_of(2), id_of(1)));
  EXPECT_EQ(reversed.next, id_of(2));
  ItemPage none = page(rows_of(0, 0), {.limit = 2});
  EXPECT_EQ(none.body, "[]");
  EXPECT_EQ(none.next, "");
}

TEST_F(Items, GoOnWhereABoundedLookEnded) {
  const std::string last = "00000000-0000-0000-0000-000000000009";
  auto looked = [&](const std::string& numbers, int64_t limit) {
    return page(
        "SELECT id, v FROM (SELECT ('00000000-0000-0000-0000-00000000000' || n)::uuid, n "
        "FROM unnest('" +
            numbers + "'::integer[]) AS n UNION ALL SELECT '" + last + "', NULL) AS rows (id, v)",
        {.limit = limit, .ends_early = true});
  };
  ItemPage some = looked("{1,2}", 2);
  EXPECT_EQ(some.next, last);
  EXPECT_EQ(parse_json_or_nothing(some.body)->as_array()->size(), 2u);
  EXPECT_EQ(looked("{}", 2).body, "[]");
  EXPECT_EQ(looked("{}", 2).next, last);
  EXPECT_EQ(looked("{1,2,3}", 2).next, "00000000-0000-0000-0000-000000000002");
}

TEST_F(Items, MakeAPageOfFourMebibytesOrOfOneThatIsLarger) {
  int mebibyte = 1 << 20;
  // Escaped, each is twice as long.
  EXPECT_EQ(page(rows_of(3, mebibyte), {.limit = 50}).next, id_of(1));
  EXPECT_EQ(page(rows_of(3, mebibyte - 100), {.limit = 50}).next, id_of(2));
  EXPECT_EQ(page(rows_of(5, mebibyte), {.limit = 50, .measured = "content"}).next, id_of(4));
  EXPECT_EQ(page(rows_of(4, mebibyte), {.limit = 50, .measured = "content"}).next, "");
  EXPECT_EQ(page(rows_of(2, 5 * mebibyte), {.limit = 50, .measured = "content"}).next, id_of(1));
  EXPECT_EQ(page(rows_of(1, 5 * mebibyte), {.limit = 50}).next, "");
}

}  // namespace
}  // namespace hostler::testing_support
