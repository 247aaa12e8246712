// This host's own addresses, public ones too: what listens there for the operator, on any port, is
// reached from inside past whatever keeps strangers out. Asks the kernel; sends nothing.
#pragma once

#include "lib/net/address_guard.h"

namespace hostler::net {

// False too when the kernel does not say: without a network, or for want of a descriptor.
bool is_own_address(const IpAddress& address);

// Whether a tenant must not make us talk to this port of the address: one of is_service_port(), or
// any port of this host but those of its web server, which are there for strangers.
bool is_closed_port(const IpAddress& address, int port);

}  // namespace hostler::net
