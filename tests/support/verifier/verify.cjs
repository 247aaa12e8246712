// Asks the published package standardwebhooks whether a delivery is genuine:
//   node verify.cjs FOLDER_OF_NODE_MODULES < {"secret", "headers", "body"}
// Says "verified TYPE", or "refused: REASON" with status 1. For the tests of webhooks and of webhook tools.
const { createRequire } = require("node:module");
const { readFileSync } = require("node:fs");

const { Webhook, WebhookVerificationError } = createRequire(process.argv[2] + "/")(
  "standardwebhooks"
);
const { secret, headers, body } = JSON.parse(readFileSync(0, "utf8"));
try {
  console.log("verified " + new Webhook(secret).verify(body, headers).type);
} catch (error) {
  if (!(error instanceof WebhookVerificationError)) throw error;
  console.log("refused: " + error.message);
  process.exitCode = 1;
}
