// How the console's calls are typed: a path that the document does not have takes no further
// argument (tsc: "Expected ... arguments"), and what it answers is the document's schema.
import type { Calls, Schemas } from '../../build/console_types/document';

export type { Schemas };
type Any<T> = 0 extends 1 & T ? true : false;

// '/v1/runs/${string}:cancel' as the document's keys have it: '/v1/runs/*:cancel'. What takes a
// question mark is no text that somebody wrote, but `${string}` or `${any}`.
type Segment<S extends string> = '?' extends S
  ? '*'
  : S extends `${infer Id}:${infer Verb}`
    ? '?' extends Id
      ? `*:${Verb}`
      : S
    : S;
type Segments<P extends string> = P extends `${infer First}/${infer Rest}`
  ? `${Segment<First>}/${Segments<Rest>}`
  : Segment<P>;

// The address of a further page, which the service gave: it answers what the first one did.
declare const answers: unique symbol;
export type Next<Answer> = string & { readonly [answers]: Answer };

type Route<M extends string, P> =
  Any<P> extends true
    ? never
    : P extends Next<infer Answer>
      ? { query: {}; body: never; answer: Answer }
      : P extends string
        ? `${M} ${Segments<P>}` extends infer K extends keyof Calls
          ? Calls[K]
          : never
        : never;

export type Query<M extends string, P> = Route<M, P>['query'];
export type Answer<M extends string, P> = Route<M, P>['answer'];

export interface Options<Q> {
  query?: { [K in keyof Q]?: Q[K] | null | '' };
  idempotency_key?: string | true;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  is_open?: boolean;
  secrets?: Record<string, string>;
}
interface Answered<T, P> {
  status: number;
  body: T;
  headers: Headers;
  next: (P extends Next<unknown> ? P : Next<T>) | null;
}

type Undocumented = [no_such_call_in_the_document: never];
export type Reading<P> = [Route<'GET', P>] extends [never]
  ? Undocumented
  : [options?: Options<Query<'GET', P>>];
type Writing<M extends string, P> = [Route<M, P>] extends [never]
  ? Undocumented
  : [Route<M, P>['body']] extends [never]
    ? [body?: undefined, options?: Options<Query<M, P>>]
    : [body?: Route<M, P>['body'], options?: Options<Query<M, P>>];
type Writer<M extends string> = <P extends string>(
  path: P,
  ...rest: Writing<M, P>
) => Promise<Answered<Answer<M, P>, P>>;

export interface Api {
  get<P extends string>(path: P, ...rest: Reading<P>): Promise<Answered<Answer<'GET', P>, P>>;
  post: Writer<'POST'>;
  put: Writer<'PUT'>;
  patch: Writer<'PATCH'>;
  del: Writer<'DELETE'>;
  open<P extends string>(path: P, ...rest: Reading<P>): Promise<Response>;
}

// The same path: its query is no part of what it is.
export type WithQuery = <P extends string>(path: P, query: Options<Query<'GET', P>>['query']) => P;

// One item of a list.
export type Item<T> = T extends Array<infer One> ? One : never;
export type AllPages = <P extends string>(
  path: P,
  ...rest: Reading<P>
) => Promise<Array<Item<Answer<'GET', P>>>>;

// A list and a single answer as components hold them; `null` reads nothing yet.
export type UsePages = <P extends string, T = Item<Answer<'GET', P>>>(
  path: P | null,
  ...rest: [Route<'GET', P>] extends [never]
    ? Undocumented
    : [options?: { pick?: (body: Answer<'GET', P>) => T[] }]
) => {
  items: T[];
  first: Answer<'GET', P> | undefined;
  error: any;
  is_loading: boolean;
  is_renewing: boolean;
  has_more: boolean;
  more: () => unknown;
  reload: () => unknown;
  again: () => unknown;
  rest: (items_max: number) => Promise<T[]>;
  change: (make: (items: T[]) => T[]) => void;
};
export type UseCall = <P extends string>(
  path: P | null,
  ...rest: Reading<P>
) => {
  body: Answer<'GET', P> | null;
  error: any;
  is_loading: boolean;
  reload: () => Promise<void>;
  set: (body: Answer<'GET', P>) => void;
};

// What a table shows of the items of `pages`.
export type Columns<Pages extends { items: unknown[] }> = Array<
  | false
  | null
  | undefined
  | {
      title: string;
      cell: (item: Item<Pages['items']>) => unknown;
      is_number?: boolean;
      is_wide?: boolean;
      is_title?: boolean;
      is_time?: boolean;
    }
>;
