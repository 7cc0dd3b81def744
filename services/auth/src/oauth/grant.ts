/** What a provider gave for a code. */
export interface Grant {
  /** Reads JSON with the access token. @throws OauthFailure */
  ask(url: string): Promise<unknown>
  /** The claims of the id token, if one came. It came over TLS from the provider itself, so nobody else can have signed it. */
  idClaims: Claims
}

export type Claims = Record<string, unknown>

/** Whether it is a JSON object. */
export const isObject = (value: unknown): value is Claims =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
