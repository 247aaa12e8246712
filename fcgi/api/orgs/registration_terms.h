// Terms on which an invited person without an account registers; the same for every way to invite.
#pragma once

#include <string_view>

#include "lib/config/settings.h"

namespace hostler {

// open, code (with an invitation code) or closed, as invitation_create() in SQL takes it.
inline std::string_view registration_of(const config::Settings& settings) {
  const std::string& mode = settings.text("auth.registration_mode");
  if (mode == "open") return "open";
  if (!settings.boolean("auth.invitations_register")) return "closed";
  return mode == "invite_only" ? "code" : "open";
}

}  // namespace hostler
