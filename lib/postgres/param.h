// The types of statements' parameters: the members of the structs that sql/embed_queries.py makes,
// such as query::RunShow{.run_id = id}. None has a default, so that a parameter that is left out
// does not compile. Each holds its value already as it is sent; nothing is kept by reference.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/ids.h"
#include "lib/postgres/database.h"

namespace hostler::postgres::param {

struct Text : Params::Value {
  Text(std::string value) : Params::Value{std::move(value), false, false} {}
  Text(std::string_view value) : Text(std::string(value)) {}
  Text(const char* value) : Text(std::string(value)) {}
  Text(std::nullptr_t) = delete;
};

// Value of json and jsonb: its text.
struct Json : Text {
  using Text::Text;
};

// The text is one that is_uuid.
struct Uuid : Text {
  using Text::Text;
  Uuid(const UuidBytes& value) : Text(std::string(value.data(), value.size())) { is_binary = true; }
};

struct Bytes : Params::Value {
  Bytes(std::string value) : Params::Value{std::move(value), false, true} {}
  Bytes(std::string_view value) : Bytes(std::string(value)) {}
};

// Value of integer and bigint. Postgres refuses numbers that are too large for the former.
struct Integer : Params::Value {
  template <std::signed_integral T>
  Integer(T value) : Params::Value{std::to_string(value), false, false} {}
};

struct Boolean : Params::Value {
  template <std::same_as<bool> T>
  Boolean(T value) : Params::Value{value ? "t" : "f", false, false} {}
};

// Arrays, in binary form.
struct Uuids : Params::Value {
  Uuids(const std::vector<std::string>& values);  // each is_uuid
  Uuids(const std::vector<UuidBytes>& values);
  static Uuids as_written(std::string_view array);  // by Postgres: {…,…}

 private:
  explicit Uuids(Params::Value value) : Params::Value(std::move(value)) {}
};
struct Texts : Params::Value {
  Texts(const std::vector<std::string>& values);
};
struct Jsons : Params::Value {
  Jsons(const std::vector<std::string>& values);
};
struct Integers : Params::Value {
  Integers(const std::vector<int64_t>& values);
};
struct Booleans : Params::Value {
  Booleans(const std::vector<bool>& values);
};

// A parameter that may be null: nullopt, or an optional without a value.
template <class T>
struct Optional : Params::Value {
  Optional(std::nullopt_t) : Params::Value{{}, true, false} {}
  template <class From>
  requires std::constructible_from<T, From&&> Optional(From&& value)  // NOLINT: it is no Optional
      : Params::Value(T(std::forward<From>(value))) {}
  template <class From>
  Optional(const std::optional<From>& value) : Optional(std::nullopt) {
    if (value) static_cast<Params::Value&>(*this) = T(*value);
  }
};

}  // namespace hostler::postgres::param

namespace hostler::postgres {

// Takes the values out of their members; in the order of the statement's parameters.
BoundStatement bound(const Statement& statement, std::initializer_list<Params::Value*> values);

}  // namespace hostler::postgres
