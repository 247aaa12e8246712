// The parameters of statements, arrays in Postgres's binary form; see lib/loop/db.h.
#include <cassert>

#include <fmt/format.h>

#include "lib/ids.h"
#include "lib/loop/db.h"

namespace hostler {
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
constexpr int64_t oid_int8 = 20;
constexpr int64_t oid_text = 25;
constexpr int64_t oid_json = 114;
constexpr int64_t oid_uuid = 2950;
constexpr int64_t oid_jsonb = 3802;

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

// Of a type whose binary form is its text.
std::string text_array(int64_t element_oid, const std::vector<std::string>& values) {
  std::string out = array_head(element_oid, values.size());
  size_t bytes = out.size();
  for (const std::string& value : values) bytes += value.size() + 4;
  out.reserve(bytes);
  for (const std::string& value : values) append_element(out, value);
  return out;
}

}  // namespace

Params& Params::text(std::string_view value) {
  values_.push_back({std::string(value), false, false});
  return *this;
}
Params& Params::text_or_null(const std::optional<std::string>& value) {
  return value ? text(*value) : null();
}
Params& Params::integer(int64_t value) { return text(fmt::format_int(value).c_str()); }
Params& Params::integer_or_null(std::optional<int64_t> value) {
  return value ? integer(*value) : null();
}
Params& Params::number(double value) { return text(fmt::format("{}", value)); }
Params& Params::boolean(bool value) { return text(value ? "t" : "f"); }
Params& Params::boolean_or_null(std::optional<bool> value) {
  return value ? boolean(*value) : null();
}
Params& Params::bytes(std::string_view value) {
  values_.push_back({std::string(value), false, true});
  return *this;
}
Params& Params::null() {
  values_.push_back({{}, true, false});
  return *this;
}
Params& Params::uuids(const std::vector<std::string>& values) {
  std::string out = array_head(oid_uuid, values.size());
  for (const std::string& value : values) {
    assert(is_uuid(value));
    UuidBytes bytes = uuid_bytes(value);
    append_element(out, {bytes.data(), bytes.size()});
  }
  values_.push_back({std::move(out), false, true});
  return *this;
}
Params& Params::uuids(const std::vector<UuidBytes>& values) {
  std::string out = array_head(oid_uuid, values.size());
  out.reserve(out.size() + values.size() * (4 + sizeof(UuidBytes)));
  for (const UuidBytes& value : values) append_element(out, {value.data(), value.size()});
  values_.push_back({std::move(out), false, true});
  return *this;
}
Params& Params::texts(const std::vector<std::string>& values) {
  values_.push_back({text_array(oid_text, values), false, true});
  return *this;
}
Params& Params::jsons(const std::vector<std::string>& values) {
  values_.push_back({text_array(oid_json, values), false, true});
  return *this;
}
Params& Params::jsonbs(const std::vector<std::string>& values) {
  std::string out = array_head(oid_jsonb, values.size());
  for (const std::string& value : values) append_element(out, "\x01" + value);
  values_.push_back({std::move(out), false, true});
  return *this;
}
Params& Params::integers(const std::vector<int64_t>& values) {
  std::string out = array_head(oid_int8, values.size());
  for (int64_t value : values) {
    append_int32(out, 8);
    append_int64(out, value);
  }
  values_.push_back({std::move(out), false, true});
  return *this;
}

}  // namespace hostler
