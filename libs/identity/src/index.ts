export { type Caller, createSharedCallers, findCaller, requireAdmin } from './callers.ts'
export { createSeals, type Seals } from './seals.ts'
export {
  type AccessClaims,
  base64urlOf32Bytes,
  createTokens,
  createWebhookToken,
  isWebhookToken,
  type NewWebhookToken,
  type RefreshClaims,
  type TokenOptions,
  type Tokens,
} from './tokens.ts'
