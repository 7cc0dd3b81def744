import { type AccessTokenOptions, createAccessTokens } from './access-token.ts'
import { createRefreshTokens } from './refresh-token.ts'

/** Everything that issues and reads the tokens of a session. */
export const createTokens = (options: AccessTokenOptions) => ({
  ...createAccessTokens(options),
  ...createRefreshTokens(options),
})
export type Tokens = ReturnType<typeof createTokens>
