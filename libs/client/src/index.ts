export { type Client, type ClientOptions, createClient } from './requests/client.ts'
export { RequestFailed } from './requests/request-failed.ts'
export type {
  Input,
  ListedChannel,
  ListedConversation,
  MessageBody,
  Operation,
  Reply,
  RequestOptions,
  Routes,
  SignInOperation,
} from './requests/routes.ts'
export {
  type TextStorage,
  type TokenPair,
  type TokenStore,
  tokensInCookie,
  tokensInMemory,
  tokensInStorage,
} from './session/tokens.ts'
export type { EventStream, StreamHandlers, StreamOptions } from './stream/event-stream.ts'
export { joinTabs, type Tabs } from './stream/tabs.ts'
export { createPlace, type Fetched, type Place } from './sync/channel-messages.ts'
export { type Copy, type CopyOptions, createCopy } from './sync/engine.ts'
