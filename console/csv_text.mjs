// The text of a CSV file (RFC 4180). Pure.

// A spreadsheet must take no cell for a formula.
const is_number = (text) => /^-?\d+(\.\d+)?$/.test(text);
const formula = /^[=+\-@\t\r]/;
export function csv_cell(value) {
  const text = value === null || value === undefined ? '' : String(value);
  const safe = formula.test(text) && !is_number(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
export const csv_text = (rows) => rows.map((row) => `${row.map(csv_cell).join(',')}\r\n`).join('');

// '1,234.50' and '$0.0032' as a spreadsheet takes them.
export function plain_number(text) {
  const bare = text.trim().replace(/^(-?)(?:US)?\$/, '$1').replaceAll(',', '');
  return is_number(bare) ? bare : text.trim();
}
