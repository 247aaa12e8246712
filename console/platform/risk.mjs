// The signals behind the risk score of a request (docs/gateway.md), found again from a row of the
// access log. Pure.

export const signals = [
  ['no_user_agent', 0.4],
  ['bot_user_agent', 0.4],
  ['no_authorization', 0.2],
  ['listed_address', 0.6],
];
const weight_of = new Map(/** @type {[string, number][]} */ (signals));
const error_max = 0.01;

// The names of the signals whose weights make the score. A score ends at 1, so there the last
// signal may be missing.
export function signals_of({ risk_score, user_agent, ua_type }) {
  const found = [];
  let rest = risk_score;
  const take = (name) => {
    if (rest + error_max < weight_of.get(name)) return;
    found.push(name);
    rest -= weight_of.get(name);
  };
  if (user_agent === '') take('no_user_agent');
  else if (ua_type === 'bot') take('bot_user_agent');
  take('listed_address');
  take('no_authorization');
  return found;
}
