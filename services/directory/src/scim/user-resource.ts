import { readEmail } from '@parley/accounts'
import type { UserRow } from '@parley/database'
import { scimRefusal } from '@parley/service'
import { type Fields, fieldsOf, longestName, optional, readOperations, required } from './scim-body.ts'

/** A group of a directory, as its members list it. */
export interface GroupOfUser {
  id: string
  name: string
}

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User'

/** The fields of a person that a directory sent. An absent field stays as it is; null removes the value. */
export interface WantedUser {
  userName?: string
  email?: string
  displayName?: string | null
  title?: string | null
  externalId?: string | null
  active?: boolean
}

/** A person as a User of RFC 7643, 4.1. */
export function userResource(user: UserRow, baseUrl: string, groups: readonly GroupOfUser[] = []) {
  const { id, displayName, title, email, externalId } = user
  return {
    schemas: [userSchema],
    id,
    ...(externalId !== null && { externalId }),
    userName: user.scimUserName ?? email,
    ...(displayName !== null && { displayName, name: { formatted: displayName } }),
    ...(title !== null && { title }),
    active: user.deactivatedAt === null,
    emails: [{ value: email, type: 'work', primary: true }],
    ...(groups.length > 0 && {
      groups: groups.map((group) => ({
        value: group.id,
        display: group.name,
        $ref: `${baseUrl}/scim/v2/Groups/${group.id}`,
        type: 'direct',
      })),
    }),
    meta: {
      resourceType: 'User',
      created: new Date(user.createdAt).toISOString(),
      lastModified: new Date(changedAt(user)).toISOString(),
      location: `${baseUrl}/scim/v2/Users/${id}`,
      version: versionOf(user),
    },
  }
}

const changedAt = (user: UserRow) => user.changedAt ?? user.createdAt

/** The ETag of a person. */
export const versionOf = (user: UserRow): string => `W/"${changedAt(user)}"`

/** A whole User from a directory. Missing fields are removed, except `active` and `emails`. @throws ProtocolRefusal 400. */
export function readUser(body: unknown): WantedUser & { userName: string } {
  const wanted: WantedUser = { displayName: null, title: null, externalId: null }
  assignAll(wanted, fieldsOf(body, 'The body'))
  const { userName } = wanted
  if (userName === undefined) throw scimRefusal(400, 'userName is missing', 'invalidValue')
  return { ...wanted, userName }
}

/**
 * The fields that a PATCH changes. Directories write "False" for false, and send values without a path. @throws
 * ProtocolRefusal 400.
 */
export function readPatch(body: unknown): WantedUser {
  const wanted: WantedUser = {}
  for (const { op, path, value } of readOperations(body)) {
    if (path === undefined) assignAll(wanted, fieldsOf(value, 'The value of an operation without a path'))
    else if (op === 'remove' && isRequired.test(path)) throw scimRefusal(400, `${path} is required`, 'mutability')
    else assign(wanted, path, op === 'remove' ? null : value)
  }
  return wanted
}

function assignAll(wanted: WantedUser, fields: Fields): void {
  for (const [name, value] of Object.entries(fields)) assign(wanted, name, value)
}

const isRequired = /(^|:)(userName|active|emails)$/i

const pathForm =
  /^(?:urn:ietf:params:scim:schemas:core:2\.0:user:)?([a-z$][\w$-]*)(?:\[[^\]]*\])?(?:\.([a-z$][\w$-]*))?$/i

/** Unknown attributes and those of extensions are ignored. */
function assign(wanted: WantedUser, path: string, value: unknown): void {
  const [, attribute, part] = pathForm.exec(path) ?? []
  if (attribute === undefined) {
    if (/^urn:/i.test(path)) return
    throw scimRefusal(400, 'A path has a form that is not allowed', 'invalidPath')
  }
  switch (`${attribute}${part ? `.${part}` : ''}`.toLowerCase()) {
    case 'username':
      wanted.userName = required(value, 'userName', longestName)
      break
    case 'emails':
    case 'emails.value': {
      const email = emailOf(value)
      if (email !== undefined) wanted.email = email
      break
    }
    case 'displayname':
      wanted.displayName = optional(value, 'displayName')
      break
    case 'name':
      if (value !== null) wanted.displayName ??= formattedName(fieldsOf(value, 'name'))
      break
    case 'name.formatted':
      wanted.displayName ??= optional(value, 'name.formatted')
      break
    case 'title':
      wanted.title = optional(value, 'title')
      break
    case 'externalid':
      wanted.externalId = optional(value, 'externalId', longestName)
      break
    case 'active':
      wanted.active = readActive(value)
      break
    default:
  }
}

function formattedName({ formatted, givenName, familyName }: Fields): string | null {
  const name = formatted ?? [givenName, familyName].filter((part) => typeof part === 'string').join(' ')
  return optional(name, 'name.formatted')
}

/** The primary address, or the first. */
function emailOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return undefined
  const emails = value.map((each) => fieldsOf(each, 'emails'))
  const { value: email } = emails.find(({ primary }) => primary === true || primary === 'True') ?? emails[0] ?? {}
  return email === undefined ? undefined : required(email, 'emails.value')
}

function readActive(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  if (typeof value === 'string' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true'
  throw scimRefusal(400, 'active must be true or false', 'invalidValue')
}

/**
 * The address and the SCIM name of a person. The address is `userName` if it contains an @, else `emails`.
 * @throws ApiError 400 when the address is refused, ProtocolRefusal 400 when there is none.
 */
export function namesOf({ userName, email }: Pick<WantedUser, 'userName' | 'email'>): {
  email: string
  scimUserName: string | null
} {
  if (userName?.includes('@')) return { email: readEmail(userName), scimUserName: null }
  if (email === undefined) throw scimRefusal(400, 'emails is missing, and userName is not an address', 'invalidValue')
  return { email: readEmail(email), scimUserName: userName ?? null }
}
