// "Try it": runs with a persona, shown as they happen, beside its editor or a tool. Each run is an
// ordinary one in an ordinary thread of the user.
import { api } from '../api.mjs';
import { StoryView } from '../chat/story_view.mjs';
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { address } from '../router.mjs';
import { useRun, useRunStory } from '../runs/use_run.mjs';
import { Field, Form, Submit, useForm } from '../ui/form.mjs';
import '../words/org_personas.mjs';

function Run({ run }) {
  const t = useWords();
  const { story } = useRunStory(run.run_id);
  const { run: row } = useRun(run.run_id, { status: story.status, turns: story.turns });
  const is_live = !story.ended;
  return html`<div class="tried"><p class="said" dir="auto">${run.content}</p>
    <div aria-live="polite"><${StoryView} story=${story} is_live=${is_live} /></div>
    ${is_live && html`<p class="dim working">${t('working')}</p>`}
    ${
      row?.status === 'waiting_for_input' &&
      html`<p class="banner"><a href=${address(`/threads/${run.thread_id}`)}>
      ${t('try.waits')}</a></p>`
    }
    <p><a href=${address(`/runs/${run.run_id}`)}>${t('try.run')}</a></p></div>`;
}

// `persona`: 'key@version'. `first`: what stands in the message. `hint`: said below it.
export function TryPane({ persona, first = '', hint = '' }) {
  const t = useWords();
  const form = useForm({ message: first });
  const [runs, set_runs] = useState([]);
  const thread_id = runs.at(-1)?.thread_id;
  const send = async ({ message }, key) => {
    const place = thread_id ? { thread_id } : { thread: { title: t('try.thread', { persona }) } };
    const { body } = await api.post(
      '/v1/runs',
      { ...place, content: message, persona_id: persona },
      { idempotency_key: key },
    );
    set_runs([...runs, { run_id: body.run_id, thread_id: body.thread_id, content: message }]);
    form.reset({ message: '' });
  };
  return html`<section class="panel try" aria-label=${t('try.title')}><div class="head">
      <h2>${t('try.title')}</h2><code>${persona}</code><span class="space"></span>
      ${
        runs.length > 0 &&
        html`<button type="button" class="small" onClick=${() => {
          set_runs([]);
          form.reset({ message: first });
        }}>${t('try.start_again')}</button>`
      }</div>
    ${runs.map((run) => html`<${Run} run=${run} key=${run.run_id} />`)}
    <${Form} form=${form} label=${t('try.title')} on_submit=${send}>
      <${Field} form=${form} name="message" rows="3" label=${t('try.message')} dir="auto"
        hint=${hint} onKeyDown=${(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            event.currentTarget.form.requestSubmit();
          }
        }} />
      <div class="actions"><${Submit} form=${form} disabled=${!form.values.message.trim()}>
        ${t('try.send')}<//></div>
    <//></section>`;
}
