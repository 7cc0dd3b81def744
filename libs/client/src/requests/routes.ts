import type { Routes } from './routes.generated.ts'

export type { Routes } from './routes.generated.ts'

/** The name of a request, such as `POST /channels/:channelId/messages`. */
export type Operation = keyof Routes
export type Reply<O extends Operation> = Routes[O]['reply']

export type ListedChannel = Reply<'GET /channels'>['channels'][number]
export type ListedConversation = Reply<'GET /conversations'>['conversations'][number]
/** The content of a message; the text may be empty only beside attachments or images. */
export type MessageBody = Routes['POST /channels/:channelId/messages']['body']

type WithToken = { accessToken: string } | { token: string; user: unknown }

/** Operations that answer with an access token, or with `mfaRequired` for somebody who has a second factor. */
export type SignInOperation = {
  [O in Operation]: Extract<Reply<O>, WithToken> extends never ? never : O extends 'POST /auth/refresh' ? never : O
}[Operation]

/** The names behind the colons of an operation. */
type ParamNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

export interface RequestOptions {
  signal?: AbortSignal
  /** For an operation that takes an `Idempotency-Key`: a key of your own, so that your program can repeat it after a restart. */
  idempotencyKey?: string
  /** How often it may be repeated, instead of the client's own number. */
  repeats?: number
  /** Told how many bytes of the body have been sent. */
  onProgress?: (progress: { sentBytes: number; totalBytes: number }) => void
  /** The request outlives the page that makes it. */
  keepalive?: boolean
  /** Used instead of the session's access token: the token of a mailed link, or of a webhook. */
  token?: string
}

/** The input of an operation: `params` when its path names any, `body` and `query` where it has them. */
export type Input<O extends Operation> = ([ParamNames<O>] extends [never]
  ? unknown
  : { params: Record<ParamNames<O>, string> }) &
  Omit<Routes[O], 'reply'> &
  RequestOptions

// Of the OpenAPI description only types are generated. `deploy/local/client-routes.test.ts` compares these rules with it: a list of
// all operations would be a tenth of what a browser loads.

/** Whether it takes an `Idempotency-Key`: repeated with the same one, it is carried out once. */
export const takesKey = (operation: string): boolean =>
  /^POST \/(admin\/exports|channels|conversations|files(\/binary)?|groups|users\/add|webhooks|.*\/(messages|thread)(\/image)?)$/.test(
    operation,
  )

/** Whether it needs no access token. */
export const isOpen = (operation: string): boolean =>
  / \/(auth\/(?!me|sessions|tokens|second-factors|logout|totp|password$|passkeys($|\/(registration|:)))|config|health|webhooks\/.*\/messages|apps\/|slack\/|hooks\/)/.test(
    operation,
  )

/** Whether it may be repeated when the answer to the first try was lost, because twice has the same outcome as once. */
export const isRepeatable = (operation: string): boolean =>
  /^(GET|PUT|DELETE) /.test(operation) ||
  takesKey(operation) ||
  /^POST (\/messages\/:messageId\/(pin|reactions)|\/channels\/:channelId\/(join|leave))$/.test(operation)
