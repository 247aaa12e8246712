// A database as an earlier version left it, with the rows that a test puts there, and its upgrade
// by the real hostlerctl. Dropped when the object ends.
#pragma once

#include <memory>
#include <string>

#include "lib/loop/db_session.h"

namespace hostler::testing_support {

class OlderSchema {
 public:
  // Has the migrations before this one, such as "00047".
  explicit OlderSchema(const std::string& first_missing);
  ~OlderSchema();
  OlderSchema(const OlderSchema&) = delete;
  OlderSchema& operator=(const OlderSchema&) = delete;

  // Applies all that is missing. Throws what hostlerctl says when it fails.
  void upgrade();
  // The first field of an SQL text's answer, as a superuser.
  std::string column(const std::string& text);

 private:
  std::string url() const;

  std::string name_;
  std::unique_ptr<DbSession> session_;
};

}  // namespace hostler::testing_support
