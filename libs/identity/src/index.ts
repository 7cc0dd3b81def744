export { createApiToken, createScimToken, createTokenUses, isScimToken } from './api-tokens.ts'
export { type Caller, createSharedCallers, findCaller, requireAdmin, requireScope } from './callers.ts'
export {
  type AppPass,
  readAppPass,
  readUploadPass,
  type UploadPass,
  writeAppPass,
  writeUploadPass,
} from './passes.ts'
export { createSeals, type Seals } from './seals.ts'
export {
  type AccessClaims,
  base64urlOf32Bytes,
  createTokens,
  createWebhookToken,
  isWebhookToken,
  type RefreshClaims,
  type Tokens,
} from './tokens.ts'
