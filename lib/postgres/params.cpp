// The parameters of statements, arrays in Postgres's binary form; see lib/postgres/param.h.
#include <cassert>

#include "lib/ids.h"
#include "lib/postgres/param.h"

namespace hostler::postgres {
namespace {

void append_int32(std::string& out, int64_t value) {
  uint32_t bits = static_cast<uint32_t>(static_cast<int32_t>(value));
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((bits >> shift) & 0xFF);
}

void append_int64(std::string& out, int64_t value) {
  uint64_t bits = static_cast<uint64_t>(value);
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>((bits >> shift) & 0xFF);
}

// Type ids of pg_type.dat; they never change.
constexpr int64_t oid_bool = 16;
constexpr int64_t oid_int8 = 20;
constexpr int64_t oid_text = 25;
constexpr int64_t oid_json = 114;
constexpr int64_t oid_uuid = 2950;

// The binary form of a one-dimensional array: dimensions, null flag, element type, length, lower
// bound, then each element with its length.
std::string array_head(int64_t element_oid, size_t count) {
  std::string out;
  append_int32(out, count == 0 ? 0 : 1);
  append_int32(out, 0);
  append_int32(out, element_oid);
  if (count == 0) return out;
  append_int32(out, static_cast<int64_t>(count));
  append_int32(out, 1);
  return out;
}

void append_element(std::string& out, std::string_view bytes) {
  append_int32(out, static_cast<int64_t>(bytes.size()));
  out += bytes;
}

// Value of a type whose binary form is its text.
std::string text_array(int64_t element_oid, const std::vector<std::string>& values) {
  std::string out = array_head(element_oid, values.size());
  size_t bytes = out.size();
  for (const std::string& value : values) bytes += value.size() + 4;
  out.reserve(bytes);
  for (const std::string& value : values) append_element(out, value);
  return out;
}

}  // namespace

namespace param {

Uuids::Uuids(const std::vector<std::string>& values)
    : Params::Value{array_head(oid_uuid, values.size()), false, true} {
  for (const std::string& value : values) {
    assert(is_uuid(value));
    UuidBytes uuid = uuid_bytes(value);
    append_element(bytes, {uuid.data(), uuid.size()});
  }
}
Uuids::Uuids(const std::vector<UuidBytes>& values)
    : Params::Value{array_head(oid_uuid, values.size()), false, true} {
  bytes.reserve(bytes.size() + values.size() * (4 + sizeof(UuidBytes)));
  for (const UuidBytes& value : values) append_element(bytes, {value.data(), value.size()});
}
Uuids Uuids::as_written(std::string_view array) {
  return Uuids(Params::Value{std::string(array), false, false});
}
Texts::Texts(const std::vector<std::string>& values)
    : Params::Value{text_array(oid_text, values), false, true} {}
Jsons::Jsons(const std::vector<std::string>& values)
    : Params::Value{text_array(oid_json, values), false, true} {}
Integers::Integers(const std::vector<int64_t>& values)
    : Params::Value{array_head(oid_int8, values.size()), false, true} {
  for (int64_t value : values) {
    append_int32(bytes, 8);
    append_int64(bytes, value);
  }
}
Booleans::Booleans(const std::vector<bool>& values)
    : Params::Value{array_head(oid_bool, values.size()), false, true} {
  for (bool value : values) append_element(bytes, {value ? "\x01" : "\0", 1});
}

}  // namespace param

BoundStatement bound(const Statement& statement, std::initializer_list<Params::Value*> values) {
  assert(static_cast<size_t>(statement.params) == values.size());
  BoundStatement statement_bound{&statement, {}};
  statement_bound.params.reserve(values.size());
  for (Params::Value* value : values) statement_bound.params.add(std::move(*value));
  return statement_bound;
}

Params& Params::add(Value value) {
  values_.push_back(std::move(value));
  return *this;
}
void Params::reserve(size_t count) { values_.reserve(count); }

}  // namespace hostler::postgres
