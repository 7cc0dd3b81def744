import type {
  Attachment,
  Channel,
  Conversation,
  ListedWebhook,
  Message,
  ReadState,
  ServerSettings,
  Session,
  ThreadMeta,
  User,
  UserView,
} from '@parley/contract'

export type ListedChannel = Channel & ReadState
export type ListedConversation = Conversation & ReadState & { lastMessageAt: number }
export interface Presence {
  userId: string
  status: string
  lastSeen: number
}

/** What is said in a message; `content` may be empty only beside attachments or images. */
export interface MessageBody {
  content: string
  attachments?: Attachment[]
  images?: string[]
  quotedMessageId?: string | null
}

interface Page {
  limit?: number
  /** Message id: only what comes before it. */
  before?: string
}

/** What is whole unless a page of it is asked for. */
interface ListingPage {
  limit?: number
  /** Id of the last item of the page before. */
  after?: string
}

type Done = { success: true }
type MessageReply = { message: Message }

/**
 * What a signed-in client may ask, under the names of the API description. `libs/client` does not check replies: the server's
 * own schemas have made them.
 */
export interface Routes {
  'GET /auth/me': { reply: { user: UserView } }
  'GET /auth/sessions': { reply: { sessions: Session[] } }
  'DELETE /auth/sessions': { body: { refreshToken?: string }; reply: unknown }
  'DELETE /auth/sessions/:sessionId': { reply: unknown }
  'POST /auth/logout': { body: { refreshToken: string }; reply: unknown }

  'GET /users': { query: ListingPage; reply: { users: User[]; hasMore: boolean } }
  'PUT /users/me': { body: { userName: string }; reply: { user: UserView } }
  'POST /users/add': {
    body: { email: string; role?: 'user' | 'admin'; password?: string }
    reply: Done & { userId: string }
  }
  'PUT /users/:id/role': { body: { role: 'user' | 'admin' }; reply: { user: User } }
  'POST /users/:id/reset-password': { body: { password: string }; reply: Done }
  'DELETE /users/:id': { reply: Done }
  'POST /users/exit': { reply: Done & { message: string } }

  'GET /presence': { query: ListingPage; reply: { presence: Presence[]; hasMore: boolean } }
  'PUT /presence/me': { body: { status: 'online' | 'away' | 'offline' }; reply: unknown }

  'GET /channels': { query: ListingPage; reply: { channels: ListedChannel[]; hasMore: boolean } }
  'POST /channels': {
    body: { name: string; topic?: string | null; isPrivate?: boolean; members?: string[] }
    reply: { channel: Channel }
  }
  'PUT /channels/:channelId': {
    body: { name?: string; topic?: string | null; isPrivate?: boolean; members?: string[] }
    reply: { channel: Channel }
  }
  'DELETE /channels/:channelId': { reply: Done }
  'GET /channels/:channelId/messages': { query: Page; reply: { messages: Message[] } }
  'POST /channels/:channelId/messages': { body: MessageBody; reply: MessageReply }
  'GET /channels/:channelId/pins': { reply: { messages: Message[] } }
  'PUT /channels/:channelId/read': { body: { seq: number }; reply: { channelId: string } & ReadState }
  'PUT /channels/:channelId/typing': { reply: unknown }

  'PUT /messages/:messageId': { body: MessageBody; reply: MessageReply }
  'DELETE /messages/:messageId': { reply: Done }
  'POST /messages/:messageId/pin': { reply: MessageReply }
  'DELETE /messages/:messageId/pin': { reply: MessageReply }
  'POST /messages/:messageId/reactions': { body: { reaction: string }; reply: MessageReply }
  'DELETE /messages/:messageId/reactions': { body: { reaction: string }; reply: MessageReply }
  'GET /messages/:messageId/thread': { query: Page; reply: { replies: Message[] } }
  'POST /messages/:messageId/thread': {
    body: MessageBody
    reply: { reply: Message; threadMeta: ThreadMeta; parentRev: number }
  }
  'PUT /messages/:messageId/thread/:replyId': { body: MessageBody; reply: MessageReply }
  'DELETE /messages/:messageId/thread/:replyId': { reply: Done }

  'GET /conversations': { query: ListingPage; reply: { conversations: ListedConversation[]; hasMore: boolean } }
  'POST /conversations': { body: { targetUserId: string }; reply: { conversation: Conversation; isNew: boolean } }
  'GET /conversations/:conversationId/messages': { query: Page; reply: { messages: Message[] } }
  'POST /conversations/:conversationId/messages': { body: MessageBody; reply: MessageReply }
  'PUT /conversations/:conversationId/messages/:messageId': { body: MessageBody; reply: MessageReply }
  'DELETE /conversations/:conversationId/messages/:messageId': { reply: Done }
  'PUT /conversations/:conversationId/read': { body: { seq: number }; reply: { channelId: string } & ReadState }
  'PUT /conversations/:conversationId/typing': { reply: unknown }

  'GET /server/settings': { reply: ServerSettings }
  'PUT /server/settings': { body: { name: string }; reply: ServerSettings }
  'GET /webhooks': { reply: { webhooks: ListedWebhook[] } }
  'POST /webhooks': { body: { name: string; channelId: string }; reply: { webhook: ListedWebhook & { token: string } } }
  'POST /webhooks/:webhookId/take-over': {
    body: { renewToken?: boolean }
    reply: { webhook: ListedWebhook & { token?: string } }
  }
  'DELETE /webhooks/:webhookId': { reply: Done }
}

export type Operation = keyof Routes
export type Reply<O extends Operation> = Routes[O]['reply']

/** The names behind the colons of an operation. */
type ParamNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

/** What an operation needs: `params` when its path names any, `body` and `query` where it has them. */
export type Input<O extends Operation> = ([ParamNames<O>] extends [never]
  ? unknown
  : { params: Record<ParamNames<O>, string> }) &
  (Routes[O] extends { body: infer Body } ? { body: Body } : unknown) &
  (Routes[O] extends { query: infer Query } ? { query?: Query } : unknown) & {
    signal?: AbortSignal
    /** For an operation that takes an `Idempotency-Key`: your own, to repeat it after a restart of your program. */
    idempotencyKey?: string
  }

/** These take an `Idempotency-Key`: repeated with the same one, they are carried out once. */
export const takesKey = (operation: string) =>
  /^POST \/(channels|conversations|webhooks|users\/add|(channels|conversations)\/:\w+\/messages|messages\/:\w+\/thread)$/.test(
    operation,
  )

/** These may be repeated whatever became of the first try: the outcome is the same. */
export const isRepeatable = (operation: string) =>
  /^(GET|PUT|DELETE) /.test(operation) ||
  takesKey(operation) ||
  ['POST /messages/:messageId/pin', 'POST /messages/:messageId/reactions'].includes(operation)
