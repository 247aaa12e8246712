// Binary values read; see lib/postgres/columns.h.
#include "lib/postgres/columns.h"

#include <libpq-fe.h>

#include <array>
#include <bit>
#include <cassert>

namespace hostler::postgres {
namespace {

// Type ids of pg_type.dat; they never change.
constexpr Oid oid_bool = 16;
constexpr Oid oid_int8 = 20;
constexpr Oid oid_int2 = 21;
constexpr Oid oid_int4 = 23;
constexpr Oid oid_text = 25;
constexpr Oid oid_json = 114;
constexpr Oid oid_float8 = 701;
constexpr Oid oid_timestamptz = 1184;
constexpr Oid oid_uuid = 2950;
constexpr Oid oid_jsonb = 3802;

constexpr size_t jsonb_head = 1;  // the version of the form
// 2000-01-01T00:00:00Z, from which Postgres counts.
constexpr int64_t epoch_us = 946'684'800'000'000;

using HexPairs = std::array<std::array<char, 2>, 256>;

constexpr HexPairs hex_pairs() {
  constexpr std::string_view digits = "0123456789abcdef";
  HexPairs pairs{};
  for (size_t byte = 0; byte < pairs.size(); ++byte) {
    pairs[byte] = {digits[byte >> 4], digits[byte & 15]};
  }
  return pairs;
}

// Digits of each byte.
constexpr HexPairs hex_digits = hex_pairs();

uint64_t big_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

}  // namespace

Columns::Columns(const Result& result)
    : result_(result.result_.get()), rows_(result.size()), count_(PQnfields(result_)) {
  assert(count_ == 0 || PQfformat(result_, 0) == 1);
}

std::string_view Columns::name(int column) const { return PQfname(result_, column); }

Columns::Type Columns::type(int column) const {
  switch (PQftype(result_, column)) {
    case oid_bool:
      return Type::boolean;
    case oid_int2:
    case oid_int4:
    case oid_int8:
      return Type::integer;
    case oid_float8:
      return Type::number;
    case oid_text:
      return Type::text;
    case oid_uuid:
      return Type::uuid;
    case oid_timestamptz:
      return Type::time;
    case oid_json:
      return Type::json;
    case oid_jsonb:
      return Type::jsonb;
    default:
      return Type::unknown;
  }
}

int Columns::find(std::string_view name) const {
  for (int column = 0; column < count_; ++column) {
    if (this->name(column) == name) return column;
  }
  return -1;
}

bool Columns::is_null(int row, int column) const { return PQgetisnull(result_, row, column) == 1; }

std::string_view Columns::bytes(int row, int column) const {
  return {PQgetvalue(result_, row, column), static_cast<size_t>(PQgetlength(result_, row, column))};
}

bool Columns::boolean(int row, int column) const { return bytes(row, column).front() != 0; }

int64_t Columns::integer(int row, int column) const {
  std::string_view value = bytes(row, column);
  uint64_t bits = big_endian(value);
  switch (value.size()) {
    case 2:
      return static_cast<int16_t>(bits);
    case 4:
      return static_cast<int32_t>(bits);
    default:
      return static_cast<int64_t>(bits);
  }
}

double Columns::number(int row, int column) const {
  return std::bit_cast<double>(big_endian(bytes(row, column)));
}

std::string_view Columns::json(int row, int column) const {
  std::string_view text = bytes(row, column);
  if (type(column) == Type::jsonb) text.remove_prefix(jsonb_head);
  return text;
}

int64_t Columns::unix_us(int row, int column) const { return integer(row, column) + epoch_us; }

std::string Columns::uuid(int row, int column) const {
  std::string text;
  append_uuid(bytes(row, column), text);
  return text;
}

void append_uuid(std::string_view bytes, std::string& out) {
  assert(bytes.size() == 16);
  std::array<char, 36> text{};
  char* at = text.data();
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *at++ = '-';
    const std::array<char, 2>& digits = hex_digits[static_cast<unsigned char>(bytes[i])];
    *at++ = digits[0];
    *at++ = digits[1];
  }
  out.append(text.data(), text.size());
}

}  // namespace hostler::postgres
