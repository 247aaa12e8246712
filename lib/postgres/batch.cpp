// How a batch is filled; declared in lib/postgres/database.h.
#include "lib/postgres/database.h"

namespace hostler::postgres {

Batch& Batch::add(BoundStatement statement) {
  items_.push_back(std::move(statement));
  return *this;
}
Batch& Batch::add(const Statement& statement) { return add(BoundStatement{&statement, {}}); }

Batch& Batch::add(Batch others) {
  for (Item& item : others.items_) items_.push_back(std::move(item));
  return *this;
}

}  // namespace hostler::postgres
