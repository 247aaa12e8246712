// Errors in one form: a problem of the service, or one that happened before it was reached.

// Members: code, title, detail, errors ([{field, code, message}]), trace_id ('' when no answer
// came), status (0 then), retry_after (seconds or null), problem (the whole body, for members of
// single codes).
export class ApiError extends Error {
  constructor({
    code,
    title,
    detail = '',
    errors = [],
    trace_id = '',
    status = 0,
    retry_after = null,
    problem = {},
  }) {
    super(`${code}: ${detail || title}`);
    this.name = 'ApiError';
    this.code = code;
    this.title = title;
    this.detail = detail;
    this.errors = errors;
    this.trace_id = trace_id;
    this.status = status;
    this.retry_after = retry_after;
    /** @type {Partial<import('./types/calls').Schemas['Problem']>} The whole answer. */
    this.problem = problem;
  }
}

function seconds(text) {
  const value = Number(text);
  return text && Number.isFinite(value) ? value : null;
}

// Makes an error from an answer that is no success. Below /v1/openai errors have OpenAI's form.
export async function error_of_response(response) {
  const text = await response.text().catch(() => '');
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    body = {};
  }
  const problem = body?.error?.code
    ? { code: body.error.code, detail: body.error.message, title: body.error.type }
    : (body ?? {});
  return new ApiError({
    code: problem.code ?? 'http.unreadable_answer',
    title: problem.title ?? `HTTP ${response.status}`,
    detail: problem.detail ?? '',
    errors: Array.isArray(problem.errors) ? problem.errors : [],
    trace_id: problem.trace_id ?? response.headers.get('x-trace-id') ?? '',
    status: response.status,
    retry_after: seconds(response.headers.get('retry-after')),
    problem,
  });
}

// Makes an error from any thrown value: fetch says TypeError when there was no answer.
export function error_of(thrown) {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof TypeError && /fetch|network|load/i.test(thrown.message)) {
    return new ApiError({
      code: 'network.unreachable',
      title: 'The service cannot be reached',
      detail: 'Look at your connection; the call is safe to repeat.',
    });
  }
  if (thrown?.name === 'TimeoutError') {
    return new ApiError({ code: 'network.timeout', title: 'The service did not answer in time' });
  }
  return new ApiError({
    code: 'console.error',
    title: 'The console made a mistake',
    detail: String(thrown?.message ?? thrown),
  });
}

export const is_abort = (thrown) => thrown?.name === 'AbortError';
