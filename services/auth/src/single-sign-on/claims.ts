export type Claims = Record<string, unknown>

/** Whether the value is a JSON object. */
export const isObject = (value: unknown): value is Claims =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Groups or roles beyond this number are not read. */
const maxValues = 1_000

/**
 * A claim by its name. When no claim has this name, it is read as a path with dots into objects, such as `realm_access.roles` of Keycloak.
 * Inherited properties are ignored.
 */
export function claimNamed(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  return name
    .split('.')
    .reduce<unknown>((at, part) => (isObject(at) && Object.hasOwn(at, part) ? at[part] : undefined), claims)
}

/** A claim that is a single text, trimmed; undefined when it is empty or not a single text. */
export function textClaim(claims: Claims, name: string): string | undefined {
  const [text, ...others] = [claimNamed(claims, name)].flat()
  if (others.length > 0) return undefined
  return typeof text === 'string' && text.trim() !== '' ? text.trim().toWellFormed() : undefined
}

/** A claim that is a list of texts, or a single text; undefined when the provider does not send the claim. */
export function listClaim(claims: Claims, name: string): string[] | undefined {
  const value = claimNamed(claims, name)
  if (value === undefined || value === null) return undefined
  return [value]
    .flat()
    .slice(0, maxValues)
    .filter((one): one is string => typeof one === 'string' && one !== '')
}

/** The user name for a new account. For an e-mail address it is the part before the @, as in other sign-in modes. */
export const userNameFrom = (name: string | undefined): string | undefined => name?.split('@')[0] || undefined

/** The display name in one line. `updateProfile` shortens it, and removes characters that are not allowed. */
export const displayNameFrom = (name: string | undefined): string | undefined =>
  name?.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim() || undefined
