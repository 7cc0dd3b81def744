export { type Client, type ClientOptions, createClient } from './client/client.ts'
export { type PlaceOperation, requestForPlace } from './client/request-for-place.ts'
export type { Outbox } from './outbox/outbox.ts'
export { RequestFailed } from './requests/request-failed.ts'
export type {
  Input,
  ListedChannel,
  ListedConversation,
  MessageBody,
  Operation,
  RequestOptions,
  ResponseOf,
  Routes,
  SignInOperation,
} from './requests/routes.ts'
export { isConversationId, isDeletion, needsNoToken, takesKey } from './requests/routes.ts'
export {
  type TextStorage,
  type TokenPair,
  type TokenStore,
  tokensInCookie,
  tokensInMemory,
  tokensInStorage,
} from './session/tokens.ts'
export { storeInIndexedDb } from './store/indexed-db.ts'
export { parseJson } from './store/json.ts'
export {
  type Batch,
  type OutboxEntry,
  type Store,
  type Stored,
  type StoredState,
  storeInMemory,
} from './store/store.ts'
export type { EventStream, StreamHandlers, StreamOptions } from './stream/event-stream.ts'
export { joinTabs } from './stream/joined-tabs.ts'
export { soleTab, type Tabs } from './stream/tabs.ts'
export type { Anchor } from './sync/anchored-timeline.ts'
export { type ChannelMessages, createChannelMessages, type Fetched } from './sync/channel-messages.ts'
export { createSyncEngine, type SyncEngine } from './sync/engine.ts'
export type { SyncEngineOptions } from './sync/engine-options.ts'
export type { TimelinePosition } from './sync/open-channels.ts'
export type { KnownChannel, KnownConversation } from './sync/places.ts'
