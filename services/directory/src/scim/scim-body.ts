import { scimRefusal } from '@parley/service'

/** The attributes of a resource, or of a part of it. */
export type Fields = Record<string, unknown>

export interface Operation {
  op: 'add' | 'replace' | 'remove'
  path: string | undefined
  value: unknown
}

/** Authentik sends one operation for each member of a group. */
const maxOperations = 50_000
const longestText = 1_000
/** Names and ids of a directory are in indexes, and an entry of an index has room for this many characters of any kind. */
export const longestName = 500

/**
 * The operations of a PATCH (RFC 7644, 3.5.2), as directories really send them: `op` may have a capital, and a value
 * may come without a path. @throws ProtocolRefusal 400.
 */
export function readOperations(body: unknown): Operation[] {
  const { operations } = attributesOf(body, 'The body')
  if (!Array.isArray(operations) || operations.length === 0 || operations.length > maxOperations) {
    throw scimRefusal(400, `Operations must be a list of 1 to ${maxOperations} operations`, 'invalidSyntax')
  }
  return operations.map((each) => {
    const { op: written, path: given, value } = attributesOf(each, 'An operation')
    // In SCIM, null is the same as an absent attribute (RFC 7643, 2.5).
    const path = given === null || given === '' ? undefined : given
    const op = typeof written === 'string' ? written.toLowerCase() : ''
    if (op !== 'add' && op !== 'replace' && op !== 'remove') {
      throw scimRefusal(400, 'op must be add, replace or remove', 'invalidSyntax')
    }
    if (path !== undefined && typeof path !== 'string') throw scimRefusal(400, 'path must be text', 'invalidPath')
    if (op === 'remove' && path === undefined) {
      throw scimRefusal(400, 'A remove operation needs a path', 'noTarget')
    }
    if (path !== undefined && /^(id|meta|schemas)\b/i.test(path)) {
      throw scimRefusal(400, `${path} cannot be changed`, 'mutability')
    }
    return { op, path, value }
  })
}

/**
 * The value of an attribute that has only one. Some directories of Microsoft send it as a list:
 * `[{"$ref": null, "value": "False"}]`.
 */
export function singleValue(value: unknown): unknown {
  const [only, ...others] = Array.isArray(value) ? value : []
  if (typeof only !== 'object' || only === null || others.length > 0) return value
  return attributesOf(only, 'A value').value
}

/** A text of at most `longest` UTF-16 code units; null when it is absent or empty. @throws ProtocolRefusal 400. */
export function optionalText(value: unknown, name: string, longest = longestText): string | null {
  if (value === null || value === undefined || value === '') return null
  if (typeof value !== 'string') throw scimRefusal(400, `${name} must be text`, 'invalidValue')
  if (value.length > longest) {
    throw scimRefusal(400, `${name} may have at most ${longest} characters`, 'invalidValue')
  }
  return value
}

/** A text that is not empty. @throws ProtocolRefusal 400. */
export function requiredText(value: unknown, name: string, longest = longestText): string {
  const text = optionalText(value, name, longest)
  if (text === null || text.trim() === '') throw scimRefusal(400, `${name} must not be empty`, 'invalidValue')
  return text.trim()
}

/** The fields of a JSON object. @throws ProtocolRefusal 400 for any other value. */
export function fieldsOf(value: unknown, what: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw scimRefusal(400, `${what} must be a JSON object`, 'invalidSyntax')
}

/** As `fieldsOf`, with the names in lower case, because the names of attributes are not case-sensitive. */
export const attributesOf = (value: unknown, what: string): Fields =>
  Object.fromEntries(Object.entries(fieldsOf(value, what)).map(([name, inner]) => [name.toLowerCase(), inner]))
