// Lines that the types have to refuse: a line that does not break them any more fails the check.
// Never run; console/tsconfig.json includes it for types.test.mjs.
import { all_pages, api, with_query } from '../../../console/api.mjs';
import { useCall, usePages } from '../../../console/ui/list.mjs';

export async function refused(/** @type {string} */ id, /** @type {any} */ anything) {
  // @ts-expect-error no such path
  await api.get('/v1/thread');
  // @ts-expect-error no such path behind an id
  await api.post(`/v1/runs/${id}:end`);
  // @ts-expect-error not by this method
  await api.del(`/v1/runs/${anything}`);
  // @ts-expect-error a path that nobody can look up
  await api.get(anything);
  // @ts-expect-error a path that nobody can look up
  await api.get(id);
  // @ts-expect-error no such member of the query
  await api.get('/v1/threads', { query: { end_users: 'ada' } });
  // @ts-expect-error no such member of the query
  with_query('/v1/runs', { state: 'running' });
  // @ts-expect-error not among the values that the query takes
  with_query('/v1/runs', { status: 'going' });
  // @ts-expect-error no such member of the body
  await api.post('/v1/threads', { name: 'Graz' });
  // @ts-expect-error another type
  await api.patch(`/v1/threads/${id}`, { title: 7 });
  const { body: thread } = await api.post('/v1/threads', { title: 'Graz' });
  // @ts-expect-error no such member of the answer
  String(thread.name);
  const threads = await all_pages(with_query('/v1/threads', { limit: 200 }));
  // @ts-expect-error no such member of an item
  threads.map((one) => one.owner);
  const page = await api.get('/v1/runs');
  const { body: further } = await api.get(page.next);
  // @ts-expect-error no such member of an item of a further page
  further.map((run) => run.id);
  // @ts-expect-error no such list
  usePages('/v1/keys');
  // @ts-expect-error no such member of an item
  usePages('/v1/api-keys').items.map((key) => key.secret);
  // @ts-expect-error no such member of an answer
  String(useCall('/v1/me').body.mail);
}

// Lines that they have to accept: a fault here is a fault of the check.
export async function taken(/** @type {string} */ id) {
  const { body: run } = await api.get(`/v1/runs/${id}`);
  await api.post(`/v1/runs/${run.run_id}:cancel`, undefined, { idempotency_key: true });
  await api.post(`/v1/runs/${id}/input`, { content: 'yes' });
  return usePages(id === '' ? null : `/v1/orgs/${id}/members`).items.map(({ user_id }) => user_id);
}
