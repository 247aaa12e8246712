// Options for browsers that make or use a passkey: WebAuthn level 3's JSON forms. Called by
// the handlers of passkeys and of logins that a passkey may end; asks no database.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/account/webauthn.h"
#include "lib/config/settings.h"
#include "lib/json.h"

namespace hostler {

// A random challenge, and its SHA-256 as the database keeps it.
struct Challenge {
  std::string text;  // base64url
  std::string hash;
};
Challenge new_challenge();
// That of a login that waits for a factor: it follows from the token, which serves once.
Challenge challenge_of_token(std::string_view factor_token);

// The site that mail.site_url names, and further origins of auth.webauthn_origins; nothing without
// mail.site_url.
std::optional<account::WebauthnSite> webauthn_site(const config::Settings& settings);
// The same; throws auth.passkeys_not_configured.
account::WebauthnSite required_webauthn_site(const config::Settings& settings);

struct PasskeyOwner {
  std::string_view user_id;
  std::string_view email;
  std::string_view username;
};
// PublicKeyCredentialCreationOptionsJSON. known: ids of passkeys in hex, a JSON array.
std::string creation_options(const account::WebauthnSite& site, const Challenge& challenge,
                             const PasskeyOwner& owner, std::string_view known);
// PublicKeyCredentialRequestOptionsJSON. known: likewise; empty: any passkey of the site.
std::string request_options(const account::WebauthnSite& site, const Challenge& challenge,
                            std::string_view known, account::UserVerification verification);

}  // namespace hostler
