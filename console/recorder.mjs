// The calls that the open screen made, as curl commands. What is secret in them stands there as the
// name of a shell variable: nothing secret is kept.
import { watch_screens } from './router.mjs';
import { store } from './store.mjs';
import { watch_session } from './token.mjs';

const kept_max = 60;
// Members of bodies, and what stands for them.
const secret_members = {
  password: 'HOSTLER_PASSWORD',
  current_password: 'HOSTLER_PASSWORD',
  new_password: 'HOSTLER_NEW_PASSWORD',
  otp: 'HOSTLER_CODE',
  token: 'HOSTLER_MAIL_TOKEN',
  cf_turnstile_token: 'HOSTLER_CAPTCHA',
  api_key: 'HOSTLER_PROVIDER_KEY',
  smtp_pass: 'HOSTLER_SMTP_PASSWORD',
};
// Members of `authorization`, which says how an MCP server is called; of its headers every one.
const secrets_of_servers = {
  token: 'HOSTLER_MCP_TOKEN',
  client_secret: 'HOSTLER_MCP_CLIENT_SECRET',
};
const secret_header = 'HOSTLER_MCP_HEADER';

// [{method, path, body (JSON text or ''), fields ([name, value])}], the oldest first. A call made
// again moves to the end.
export const calls = store([]);

// The placeholder of a secret while the call is kept: no text of a user's can hold it.
const mark = crypto.randomUUID();
const marked = (variable) => `${mark}${variable};`;

// The variable that stands for a member of `holder`, if it is secret. Deeper in the body than named
// here stands the user's own data.
function variable_of(body, secrets, holder, name) {
  const { authorization } = body;
  if (holder === body) return { ...secret_members, ...secrets }[name];
  if (authorization && holder === authorization) return secrets_of_servers[name];
  return authorization?.headers && holder === authorization.headers ? secret_header : undefined;
}
const body_text = (body, secrets) =>
  JSON.stringify(body, function replaced(name, value) {
    const variable = typeof value === 'string' && variable_of(body, secrets, this, name);
    return variable ? marked(variable) : value;
  });

export function record_call(request, fields) {
  const body = request.body === undefined ? '' : body_text(request.body, request.secrets);
  const shown = Object.entries(fields).filter(
    ([name]) =>
      !['Accept', 'Authorization'].includes(name) ||
      (name === 'Accept' && fields.Accept !== 'application/json'),
  );
  const call = {
    method: request.method,
    path: request.path,
    body,
    fields: shown,
    is_signed: Boolean(fields.Authorization),
  };
  const is_same = (other) =>
    other.method === call.method && other.path === call.path && other.body === body;
  calls.set([...calls.get().filter((other) => !is_same(other)), call].slice(-kept_max));
}

// Another screen, and another session, begins with none.
watch_session((what) => what === 'out' && calls.set([]));
watch_screens(() => calls.set([]));

// For a shell: one argument, with the marks as variables in it.
function quoted(text) {
  const plain = `'${text.replaceAll("'", "'\\''")}'`;
  return plain.replace(new RegExp(`${mark}(\\w+);`, 'g'), `'"$$$1"'`);
}

// One command, of several lines; $HOSTLER_URL and $HOSTLER_TOKEN are the caller's.
export function as_curl(call) {
  const parts = [`curl -sS${/[[\]{}]/.test(call.path) ? ' -g' : ''}`];
  if (call.method !== 'GET' && !(call.method === 'POST' && call.body))
    parts[0] += ` -X ${call.method}`;
  const is_plain = /^[\w/?=&.%:~-]+$/.test(call.path);
  parts[0] += is_plain ? ` "$HOSTLER_URL${call.path}"` : ` "$HOSTLER_URL"${quoted(call.path)}`;
  if (call.is_signed) parts.push('-H "Authorization: Bearer $HOSTLER_TOKEN"');
  for (const [name, value] of call.fields) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (call.body) parts.push(`--data-raw ${quoted(call.body)}`);
  return parts.join(' \\\n  ');
}
