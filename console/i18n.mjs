// Words of the console in the user's language, and how it writes times and numbers. A table of
// words is an object { key: 'text with {names}' }; `key.one` and `key.other` are the forms for a
// `count`.
import { keep, kept_setting } from './settings.mjs';
import { store, useStore } from './store.mjs';

const tables = { en: {}, zh: {} };
export const languages = { en: 'English', zh: '中文' };

function first_language() {
  const chosen = kept_setting('language');
  if (chosen in languages) return chosen;
  return (navigator.languages ?? []).some((tag) => /^(zh|en)\b/i.test(tag)) &&
    /^zh\b/i.test(navigator.languages.find((tag) => /^(zh|en)\b/i.test(tag)))
    ? 'zh'
    : 'en';
}

export const language = store(first_language());
const show_language = (name) => {
  document.documentElement.lang = name === 'zh' ? 'zh-CN' : name;
};
show_language(language.get());
language.watch(show_language);
addEventListener('storage', (event) => {
  if (event.key === 'hostler.language' && event.newValue in languages) language.set(event.newValue);
});

export function set_language(name) {
  keep('language', name);
  language.set(name);
}

// Both tables must have the same keys.
export function add_words(en, zh) {
  Object.assign(tables.en, en);
  Object.assign(tables.zh, zh);
}

// The text of a key. Text only: it is given to components as a child or an attribute, never as
// HTML.
export function t(key, values = {}) {
  const table = tables[language.get()];
  let text = table[key] ?? tables.en[key];
  if (text === undefined && values.count !== undefined) {
    const form = new Intl.PluralRules(language.get()).select(values.count);
    text = table[`${key}.${form}`] ?? table[`${key}.other`] ?? tables.en[`${key}.other`];
  }
  if (text === undefined) return key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === 'number' ? number(value) : String(value);
  });
}

// The text of a key before and after its `{name}`, where a component stands.
export const around_name = (key) => t(key).split('{name}');

// Draws the component again when the language changes; gives `t`.
export function useWords() {
  useStore(language);
  return t;
}

// ------------------------------------------------ times and numbers

const made = new Map();
function formatter(kind, options) {
  const name = `${language.get()} ${kind.name} ${JSON.stringify(options)}`;
  if (!made.has(name)) {
    made.set(name, new kind(language.get() === 'zh' ? 'zh-CN' : 'en-GB', options));
  }
  return made.get(name);
}

export const number = (value, options = {}) => formatter(Intl.NumberFormat, options).format(value);

const dollars = { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' };
// US dollars with four decimals, so that the amounts of a column line up: $0.0032.
export function usd(value) {
  const least = 1e-4;
  const options = { ...dollars, minimumFractionDigits: 4, maximumFractionDigits: 4 };
  const amount = Number(value);
  return amount > 0 && amount < least / 2
    ? `<${number(least, options)}`
    : number(amount, options);
}
// US dollars on an axis or in a single figure: $1.2K, $0.0032.
export const usd_short = (value) =>
  number(Number(value), { ...dollars, notation: 'compact', maximumSignificantDigits: 3 });
// A share or a score from 0 to 1, with two decimals.
export const score = (value) =>
  number(value, { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** @type {Intl.DateTimeFormatOptions} */
const whole_time = { dateStyle: 'medium', timeStyle: 'medium' };
// '2026-11-20T15:04:05.123Z' in the time zone of the browser; '' for null.
export function time(text, options = whole_time) {
  return text ? formatter(Intl.DateTimeFormat, options).format(new Date(text)) : '';
}
export const date = (text) => time(text, { dateStyle: 'medium' });
// A day that the service counts, '2026-11-20' or the moment of its begin: by UTC, wherever the
// browser is.
export const utc_day = (text) => time(text, { dateStyle: 'medium', timeZone: 'UTC' });

/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const units = [
  ['year', 31536e6],
  ['month', 2592e6],
  ['day', 864e5],
  ['hour', 36e5],
  ['minute', 6e4],
];
// '3 minutes ago'; seconds are not told apart.
export function ago(text, now = Date.now()) {
  if (!text) return '';
  const distance = new Date(text).getTime() - now;
  const format = formatter(Intl.RelativeTimeFormat, { numeric: 'auto' });
  for (const [unit, length] of units) {
    if (Math.abs(distance) >= length) return format.format(Math.trunc(distance / length), unit);
  }
  return t('time.now');
}

// 1.5 MiB.
export function bytes(count) {
  const unit = Math.max(0, Math.min(4, Math.floor(Math.log2(count || 1) / 10)));
  const digits = { maximumFractionDigits: 1 };
  return `${number(count / 1024 ** unit, digits)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit]}`;
}

// 950 ms, 4.2 s, 3 min 5 s, 2 h 10 min, 30 d, 10 y.
export function duration(ms) {
  if (ms === null || ms === undefined) return '';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  const and = (rest, unit) => (rest ? ` ${rest} ${unit}` : '');
  if (minutes < 60) return `${minutes} min${and(Math.floor(seconds % 60), 's')}`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h${and(minutes % 60, 'min')}`;
  const days = Math.floor(hours / 24);
  if (days < 730) return `${number(days)} d${and(hours % 24, 'h')}`;
  return `${number(Math.floor(days / 365))} y${and(days % 365, 'd')}`;
}
