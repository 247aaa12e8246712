// Filters of the list of runs, kept in the address: those that the service applies, and those that
// the list applies to the rows that it reads. Pure, but for the names of choices.

// Members of the query of an address.
export const filter_names = [
  'status',
  'model',
  'persona',
  'end_user',
  'since',
  'until',
  'name',
  'value',
];
/** @param {Record<string, string>} query @returns {any} */
export const filters_of = (query) =>
  Object.fromEntries(filter_names.map((name) => [name, query[name] ?? '']));

// The moment when a day begins where the user is, some days later; null for text that is no day.
export function day_begin(day, days_later = 0) {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) return null;
  const moment = new Date(`${day}T00:00:00`);
  moment.setDate(moment.getDate() + days_later);
  return Number.isNaN(moment.getTime()) ? null : moment.getTime();
}

// The first version 7 UUID of a moment in ms: ids of runs are such.
export function first_id(ms) {
  const hex = ms.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

// The query of GET /v1/runs. It begins at the last day.
export function asked_of({ status, end_user, name, value, until }) {
  const end = day_begin(until, 1);
  return {
    status,
    end_user,
    before: end === null ? '' : first_id(end),
    ...(name ? { [`metadata[${name}]`]: value } : {}),
  };
}

// Whether a row is of the model, persona and days. A persona fits with and without its version.
export function fits(run, { model, persona, since, until }) {
  const at = Date.parse(run.created_at);
  const end = day_begin(until, 1);
  const of_persona = run.persona_id ?? '';
  return (
    (!model || run.model === model) &&
    (!persona || of_persona === persona || of_persona.split('@')[0] === persona) &&
    at >= (day_begin(since) ?? 0) &&
    (end === null || at < end)
  );
}

// Whether no older page can have a row of these days.
export const is_past = (rows, { since }) =>
  rows.length > 0 && Date.parse(rows.at(-1).created_at) < (day_begin(since) ?? 0);

const orders = {
  cost: (run) => Number(run.total_cost_usd ?? 0),
  duration: (run) => run.duration_ms ?? 0,
};
// The rows with the most first; '' leaves the newest first.
/**
 * @template T
 * @param {T[]} rows
 * @param {string | undefined} order
 * @returns {T[]}
 */
export function sorted(rows, order) {
  const size = orders[order];
  return size ? [...rows].sort((one, other) => size(other) - size(one)) : rows;
}
