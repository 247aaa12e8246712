// The card of a run that waits for a budget: which one, and when the run goes on. Nobody answers
// it.
import { html } from '../html.mjs';
import { around_name, time, useWords } from '../i18n.mjs';

export function BudgetWait({ wait }) {
  const t = useWords();
  const [before, after] = around_name('chat.wait.budget');
  return html`<div class="wait">
    <p>${before}<bdi class="budget-name">${wait.name}</bdi>${after}</p>
    <p>${
      wait.renews_at
        ? t('chat.budget_renews', { at: time(wait.renews_at) })
        : t('chat.budget_total')
    }</p>
    <div class="row"><a href="#/budgets">${t('budgets.title')}</a></div>
  </div>`;
}
