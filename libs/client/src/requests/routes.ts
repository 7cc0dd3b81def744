import type { Routes } from './routes.generated.ts'

export type { Routes } from './routes.generated.ts'

/** The name of an API operation, such as `POST /channels/:channelId/messages`. */
export type Operation = keyof Routes
/** The body of the response, parsed. */
export type ResponseOf<O extends Operation> = Routes[O]['response']

/** A channel as the list of channels has it, with what the person has read and set. */
export type ListedChannel = ResponseOf<'GET /channels'>['channels'][number]
/** A conversation as the list of conversations has it. */
export type ListedConversation = ResponseOf<'GET /conversations'>['conversations'][number]
/** The content of a message. Its text may be empty only if it has attachments or images. */
export type MessageBody = Routes['POST /channels/:channelId/messages']['body']

type WithToken = { accessToken: string } | { token: string; user: unknown }

/** The operations whose response has an access token, or `mfaRequired` for a person with a second factor. */
export type SignInOperation = {
  [O in Operation]: Extract<ResponseOf<O>, WithToken> extends never ? never : O extends 'POST /auth/refresh' ? never : O
}[Operation]

/** The names of the path parameters of an operation. */
export type ParamNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

export interface RequestOptions {
  signal?: AbortSignal
  /** For an operation with an `Idempotency-Key`: your own key, so that your program can repeat the request after a restart. */
  idempotencyKey?: string
  /** The number of retries, instead of `ClientOptions.retries.times`. */
  repeats?: number
  /** Called with the number of bytes of the body that have been sent. */
  onProgress?: (progress: { sentBytes: number; totalBytes: number }) => void
  /** The request outlives the page that makes it. */
  keepalive?: boolean
  /** Used instead of the session's access token: the token of a mailed link, or of a webhook. */
  token?: string
}

/** The input of an operation: `params`, `query` and `body`, if the operation has them. */
export type Input<O extends Operation> = ([ParamNames<O>] extends [never]
  ? unknown
  : { params: Record<ParamNames<O>, string> }) &
  Omit<Routes[O], 'response'> &
  RequestOptions

// Only types are generated from the OpenAPI description. A list of all operations would be a tenth of the script that a browser loads.
// `deploy/local/client-routes.test.ts` compares these rules with the description.

/** Whether the id of a place belongs to a conversation and not to a channel. The API has other paths for conversations. */
export const isConversationId = (id: string): boolean => id.startsWith('dm:')

/** Whether the operation takes an `Idempotency-Key`. The server carries out repeated requests with the same key once. */
export const takesKey = (operation: string): boolean =>
  /^POST \/(admin\/exports|channels|conversations|files(\/binary)?|groups|users\/add|webhooks|.*\/(messages|thread)(\/image)?)$/.test(
    operation,
  )

/** Whether the operation needs no access token. */
export const needsNoToken = (operation: string): boolean =>
  / \/(auth\/(?!me|sessions|tokens|second-factors|logout|totp|password$|passkeys($|\/(registration|:)))|config|health|webhooks\/.*\/messages|apps\/|slack\/|hooks\/)/.test(
    operation,
  )

/** Whether the operation deletes what the last parameter of its path identifies. Its response has no data. */
export const isDeletion = (operation: string): boolean => /^DELETE .*:\w+$/.test(operation)

/** Whether the operation may be repeated after a lost response, because it is idempotent. */
export const isRepeatable = (operation: string): boolean =>
  /^(GET|PUT|DELETE) /.test(operation) ||
  takesKey(operation) ||
  /^POST (\/messages\/:messageId\/(pin|reactions)|\/channels\/:channelId\/(join|leave))$/.test(operation)
