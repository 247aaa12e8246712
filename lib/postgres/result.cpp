// The rows of a result, read as text: see lib/postgres/database.h.
#include <libpq-fe.h>

#include <cassert>
#include <charconv>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/error.h"
#include "lib/postgres/database.h"

namespace hostler::postgres {
namespace {

int column_of(pg_result* result, const char* column) {
  int index = PQfnumber(result, column);
  if (index < 0) {
    throw Error(ErrorCode::internal_error, {}, fmt::format("no column {} in a result", column));
  }
  return index;
}

}  // namespace

Result::Result(pg_result* result) : result_(result, &PQclear) {}
int Result::size() const { return result_ ? PQntuples(result_.get()) : 0; }
Row Result::operator[](int index) const {
  assert(index >= 0 && index < size());
  return Row(*this, index);
}
std::string_view Result::text() const {
  assert(size() > 0 && PQnfields(result_.get()) > 0);
  return {PQgetvalue(result_.get(), 0, 0), static_cast<size_t>(PQgetlength(result_.get(), 0, 0))};
}

bool Row::is_null(const char* column) const {
  pg_result* result = result_->result_.get();
  return PQgetisnull(result, index_, column_of(result, column)) == 1;
}
std::string_view Row::text(const char* column) const {
  pg_result* result = result_->result_.get();
  int index = column_of(result, column);
  return {PQgetvalue(result, index_, index),
          static_cast<size_t>(PQgetlength(result, index_, index))};
}
std::optional<std::string> Row::text_or_null(const char* column) const {
  if (is_null(column)) return std::nullopt;
  return std::string(text(column));
}
int64_t Row::integer(const char* column) const {
  std::string_view digits = text(column);
  int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}
double Row::number(const char* column) const {
  std::string_view digits = text(column);
  double value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}
bool Row::boolean(const char* column) const { return text(column) == "t"; }
std::string Row::bytes(const char* column) const {
  std::string_view hex = text(column);
  if (!hex.starts_with("\\x")) return {};
  return from_hex(hex.substr(2)).value_or("");
}

}  // namespace hostler::postgres
