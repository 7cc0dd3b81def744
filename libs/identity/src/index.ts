export type { AccessClaims, AccessTokenOptions } from './access-token.ts'
export { type Caller, findCaller, requireAdmin } from './caller.ts'
export type { RefreshClaims } from './refresh-token.ts'
export { createTokens, type Tokens } from './tokens.ts'
