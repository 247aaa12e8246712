// A model for the pictures alone: Chat Completions, streamed, with answers that are worth looking
// at.
import { createServer } from 'node:http';

const order = `Your order **A-1047** is on its way:

| Step | When |
|---|---|
| packed | Monday, 9:12 |
| handed over | Monday, 15:40 |
| expected | Wednesday |

Your app can follow it:

\`\`\`sh
curl "$BASE_URL/v1/runs?end_user=customer-12" \\
  -H "Authorization: Bearer $TOKEN"
\`\`\`

Is there anything else?`;
const plans = `There are three plans:

1. **Free** – 1,000 credits a month
2. **Team** – 50,000 credits, ten members
3. **Company** – as agreed

You may change at any time; what is left of a month counts.`;

function parts_of(question, has_result) {
  if (/lamp/.test(question) && !has_result) {
    return [
      {
        reasoning_content:
          'The lamp came broken, and the order is within 30 days: a refund is due.',
      },
      { content: 'I am sorry about that. I shall pay the order back.' },
      {
        tool_calls: [
          {
            index: 0,
            id: 'call_1',
            type: 'function',
            function: { name: 'refund', arguments: '{"order":"A-1051","amount_eur":49}' },
          },
        ],
      },
    ];
  }
  if (/lamp/.test(question)) return [{ content: 'The 49 € are on their way to you.' }];
  if (/order/.test(question)) {
    return [{ reasoning_content: 'Order A-1047 was packed on Monday.' }, { content: order }];
  }
  return [{ content: /plan/.test(question) ? plans : 'Done. You get a mail about it.' }];
}

// Gives {url, close()}. `answer(question, has_result)` says what a turn is: deltas.
export async function start_model(answer = parts_of) {
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    const { messages } = JSON.parse(text);
    const asked = messages.filter((each) => each.role === 'user').at(-1)?.content ?? '';
    const question = typeof asked === 'string' ? asked : asked.map((part) => part.text).join('');
    const parts = answer(question, messages.at(-1).role === 'tool');
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const send = (chunk) => response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    const about = { id: 'one', object: 'chat.completion.chunk', created: 1, model: 'sonata-2' };
    for (const delta of parts) {
      send({ ...about, choices: [{ index: 0, delta, finish_reason: null }] });
    }
    const finish_reason = parts.some((part) => part.tool_calls) ? 'tool_calls' : 'stop';
    send({ ...about, choices: [{ index: 0, delta: {}, finish_reason }] });
    const usage = {
      prompt_tokens: 200 + text.length / 4,
      completion_tokens: Math.round(JSON.stringify(parts).length / 4),
    };
    usage.prompt_tokens = Math.round(usage.prompt_tokens);
    usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
    send({ ...about, choices: [], usage });
    response.end('data: [DONE]\n\n');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    close: () => server.close(),
  };
}
