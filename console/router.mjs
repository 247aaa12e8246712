// The address after the # says which screen is open: `#/threads/ID?tab=events`. Screens come from
// routes.mjs. Secrets in an address (mailed links) are taken out of it by `take_secret`.
import { store } from './store.mjs';

const routes = [];

// `path` names parts of it with a colon: '/threads/:thread_id'. `about`: {is_open: true} for
// screens without a login, {title: key of i18n}, {is_bare: true} for a screen without navigation,
// {screen: name} for addresses between which the component stays, with other params; {ahead: query
// => paths} for what the screen reads first, by get_ahead.
export function route(path, component, about = {}) {
  const names = [];
  const pattern = path
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/:(\w+)/g, (whole, name) => (names.push(name), '([^/]+)'));
  routes.push({ path, component, about, names, pattern: new RegExp(`^${pattern}$`) });
}

// The parts of `#/path?query`; malformed percent escapes stay as they are.
function parse(hash) {
  const text = hash.replace(/^#/, '') || '/';
  const [path, query = ''] = text.split(/\?(.*)/s);
  return {
    path: path.startsWith('/') ? path : `/${path}`,
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function find(hash) {
  const { path, query } = parse(hash);
  for (const candidate of routes) {
    const found = path.match(candidate.pattern);
    if (!found) continue;
    const params = Object.fromEntries(
      candidate.names.map((name, at) => [name, decoded(found[at + 1])]),
    );
    return {
      path,
      query,
      params,
      component: candidate.component,
      about: candidate.about,
      pattern: candidate.path,
    };
  }
  return { path, query, params: {}, component: null, about: {}, pattern: '' };
}

// {path, query, params, component, about, pattern}; `component` is null where there is no such
// screen.
export const place = store(null);

export function start_router() {
  const look = () => place.set(find(location.hash));
  addEventListener('hashchange', look);
  look();
}

// '#/path?query'; members of `query` that are null, undefined or '' are left out.
export function address(path, query = {}) {
  const given = Object.entries(query).filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  );
  const text = new URLSearchParams(given).toString();
  return `#${path}${text ? `?${text}` : ''}`;
}

// Opens a screen; `replace` leaves no step to come back to.
export function go(path, query = {}, { replace = false } = {}) {
  const target = address(path, query);
  if (replace) {
    history.replaceState(null, '', target);
    place.set(find(target));
  } else if (location.hash === target) {
    place.set(find(target));
  } else {
    location.hash = target;
  }
}

// Calls back when another screen opens; another query is the same screen.
export function watch_screens(on_change) {
  let screen = place.get()?.path;
  place.watch(({ path }) => {
    const is_other = path !== screen;
    screen = path;
    if (is_other) on_change();
  });
}

// The same screen with another query, without a step in the history.
export function set_query(changes) {
  const { path, query } = place.get();
  go(path, { ...query, ...changes }, { replace: true });
}

// A member of the query that is a secret: it is given once, and stands in no address and no history
// then.
export function take_secret(name) {
  const { path, query } = place.get();
  const { [name]: secret = '', ...others } = query;
  if (secret) {
    history.replaceState(null, '', address(path, others));
    place.set({ ...place.get(), query: others });
  }
  return secret;
}
