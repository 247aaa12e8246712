// Permits of which each organization has a share, and each person who created the work the same
// share, in however many organizations they act: a user with many workspaces gets no more than one
// organization. Who waits goes on round-robin (lib/loop/fair_permits.h). For tool calls and long
// turns of models.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "lib/loop/fair_permits.h"

namespace hostler::loop {

class SharedPermits {
 public:
  SharedPermits(Loop& loop, PermitShares shares)
      : of_users_(loop, {SIZE_MAX, shares.party_permits_max}), of_orgs_(loop, shares) {}

  // The user's is given back last: until then nobody takes another one in their name.
  class Permit {
   public:
    Permit(FairPermits<std::string>::Permit of_user, FairPermits<std::string>::Permit of_org)
        : of_user_(std::move(of_user)), of_org_(std::move(of_org)) {}

   private:
    FairPermits<std::string>::Permit of_user_;
    FairPermits<std::string>::Permit of_org_;
  };

  // Waits for the user's share first, where it keeps no permit of the organization's from others.
  Task<Permit> take(std::string org_id, std::string user_id) {
    FairPermits<std::string>::Permit of_user = co_await of_users_.take(std::move(user_id));
    FairPermits<std::string>::Permit of_org = co_await of_orgs_.take(std::move(org_id));
    Permit both(std::move(of_user), std::move(of_org));
    co_return std::move(both);
  }

  size_t held() const { return of_orgs_.held(); }
  size_t waiting() const { return of_users_.waiting() + of_orgs_.waiting(); }

 private:
  FairPermits<std::string> of_users_;
  FairPermits<std::string> of_orgs_;
};

}  // namespace hostler::loop
