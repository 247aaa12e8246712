// Rows of a table or a chart as a CSV file. Loaded when somebody asks for one.
import { render } from 'preact';

import { csv_text, plain_number } from './csv_text.mjs';

const rows_max = 10_000;

// The text of what a cell shows; times are exact.
function text_of(content) {
  const box = document.createElement('div');
  render(content ?? null, box);
  for (const time of box.querySelectorAll('time')) time.textContent = time.getAttribute('datetime');
  for (const each of box.querySelectorAll('button, select, details > :not(summary)')) {
    const choice = each instanceof HTMLSelectElement ? each.selectedOptions[0]?.textContent : '';
    each.replaceWith(choice ?? '');
  }
  const text = box.textContent.replace(/\s+/g, ' ').trim();
  render(null, box);
  return text;
}

// All rows of `pages` in the columns that have a title.
export async function csv_of(pages, columns) {
  const titled = columns.filter(({ title }) => title);
  const items = pages.rest ? await pages.rest(rows_max) : pages.items;
  const value = (column, item) => {
    const text = text_of(column.cell(item));
    return column.is_number ? plain_number(text) : text;
  };
  return csv_text([
    titled.map(({ title }) => title),
    ...items.map((item) => titled.map((column) => value(column, item))),
  ]);
}

// Members of the rows of a chart.
export function csv_of_members(rows) {
  const names = Object.keys(rows[0] ?? {});
  return csv_text([names, ...rows.map((row) => names.map((name) => row[name]))]);
}

// Saves a text as a file of the user's. The mark at its begin tells spreadsheets that it is UTF-8.
export function save_csv(name, text) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob(['\ufeff', text], { type: 'text/csv;charset=utf-8' }));
  link.download = `${name.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '') || 'table'}.csv`;
  link.click();
  URL.revokeObjectURL(link.href);
}
