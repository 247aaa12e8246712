// A database as an installation before the first release left it (tests/sql/data/preview.sql.gz: a
// dump with rows of nearly every table), with the rows that a test adds, and its upgrade by the
// real hostlerctl. Dropped when the object ends.
#pragma once

#include <memory>
#include <string>

#include "lib/postgres/session.h"

namespace hostler::testing_support {

class OlderSchema {
 public:
  OlderSchema();
  ~OlderSchema();
  OlderSchema(const OlderSchema&) = delete;
  OlderSchema& operator=(const OlderSchema&) = delete;

  // Applies all that is missing. Throws what hostlerctl says when it fails.
  void upgrade();
  // The first field of an SQL text's answer, as a superuser.
  std::string column(const std::string& text);
  postgres::DbSession& session() { return *session_; }

 private:
  std::string url() const;

  std::string name_;
  std::unique_ptr<postgres::DbSession> session_;
};

}  // namespace hostler::testing_support
