export { type Client, type ClientOptions, createClient } from './client.ts'
export { type Copy, type CopyOptions, createCopy } from './copy/copy.ts'
export { createPlace, type Fetched, type Place } from './copy/place.ts'
export type { EventStream, StreamHandlers, StreamOptions } from './event-stream.ts'
export { RequestFailed } from './request-failed.ts'
export type {
  Input,
  ListedChannel,
  ListedConversation,
  MessageBody,
  Operation,
  Presence,
  Reply,
  Routes,
} from './routes.ts'
export { type TextStorage, type TokenPair, type TokenStore, tokensInMemory, tokensInStorage } from './tokens.ts'
