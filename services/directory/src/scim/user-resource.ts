import { readEmail } from '@parley/accounts'
import type { UserRow } from '@parley/database'
import { scimRefusal } from '@parley/service'
import {
  attributesOf,
  type Fields,
  fieldsOf,
  longestName,
  type Operation,
  optionalText,
  readOperations,
  requiredText,
  singleValue,
} from './scim-body.ts'

/** A person as directories see them. */
export type ScimUser = UserRow & {
  /** Another text when their groups of directories are others, or have other names. */
  groupsDigest: string | null
}

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
  givenName?: string | null
  familyName?: string | null
  title?: string | null
  preferredLanguage?: string | null
  externalId?: string | null
  active?: boolean
}

/** The fields of a person as they are read. `name` is the display name of a person without a `displayName`. */
type UserFields = WantedUser & { name?: string | null }

/** A person as a User of RFC 7643, 4.1. */
export function userResource(user: ScimUser, baseUrl: string, groups: readonly GroupOfUser[] = []) {
  const { id, displayName, title, preferredLanguage, email, externalId } = user
  const name = nameOf(user)
  return {
    schemas: [userSchema],
    id,
    ...(externalId !== null && { externalId }),
    userName: user.scimUserName ?? email,
    ...(displayName !== null && { displayName }),
    ...(Object.keys(name).length > 0 && { name }),
    ...(title !== null && { title }),
    ...(preferredLanguage !== null && { preferredLanguage }),
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
      version: userVersion(user),
    },
  }
}

const nameOf = ({ displayName, givenName, familyName }: ScimUser) => ({
  ...(displayName !== null && { formatted: displayName }),
  ...(givenName !== null && { givenName }),
  ...(familyName !== null && { familyName }),
})

const changedAt = (user: UserRow) => user.changedAt ?? user.createdAt

/** The ETag of a person. It depends on their groups, which are a part of the resource. */
export const userVersion = (user: ScimUser): string =>
  `W/"${[changedAt(user), user.groupsDigest].filter((part) => part !== null).join('-')}"`

/** A whole User from a directory. Missing fields are removed, except `active` and `emails`. @throws ProtocolRefusal 400. */
export function readUser(body: unknown): WantedUser & { userName: string } {
  const fields: UserFields = {
    displayName: null,
    givenName: null,
    familyName: null,
    title: null,
    preferredLanguage: null,
    externalId: null,
  }
  assignAll(fields, 'replace', fieldsOf(body, 'The body'))
  const { userName } = fields
  if (userName === undefined) throw scimRefusal(400, 'userName is missing', 'invalidValue')
  return { ...withDisplayName(fields), userName }
}

/**
 * The fields that a PATCH changes. Directories write "False" for false, and send values without a path. @throws
 * ProtocolRefusal 400.
 */
export function readUserPatch(body: unknown): WantedUser {
  const fields: UserFields = {}
  for (const { op, path, value } of readOperations(body)) {
    if (path === undefined) assignAll(fields, op, fieldsOf(value, 'The value of an operation without a path'))
    else if (op === 'remove' && requiredPath.test(path)) throw scimRefusal(400, `${path} is required`, 'mutability')
    else if (readOnlyPath.test(path)) throw scimRefusal(400, `${path} cannot be changed`, 'mutability')
    else assign(fields, op, path, op === 'remove' ? null : value)
  }
  return withDisplayName(fields)
}

const withDisplayName = ({ name, ...fields }: UserFields): WantedUser =>
  name === undefined ? fields : { ...fields, displayName: fields.displayName ?? name }

type Op = Operation['op']

function assignAll(wanted: UserFields, op: Op, fields: Fields): void {
  for (const [name, value] of Object.entries(fields)) assign(wanted, op, name, value)
}

const requiredPath = /(^|:)(userName|active|emails)$/i
const readOnlyPath = /(^|:)groups\b/i

const pathForm =
  /^(?:urn:ietf:params:scim:schemas:core:2\.0:user:)?([a-z$][\w$-]*)(?:\[([^\]]*)\])?(?:\.([a-z$][\w$-]*))?$/i

/** A filter of a path that selects addresses of another type. A person has only one address, with the type `work`. */
const otherType = /\btype\s+eq\s+"(?!work")/i

/** Unknown attributes and those of extensions are ignored. */
function assign(wanted: UserFields, op: Op, path: string, value: unknown): void {
  const [, attribute, filter, part] = pathForm.exec(path) ?? []
  if (attribute === undefined) {
    if (/^urn:/i.test(path)) return
    throw scimRefusal(400, 'A path has a form that is not allowed', 'invalidPath')
  }
  switch (`${attribute}${part ? `.${part}` : ''}`.toLowerCase()) {
    case 'username':
      wanted.userName = requiredText(singleValue(value), 'userName', longestName)
      break
    case 'emails':
    case 'emails.value': {
      const email = filter !== undefined && otherType.test(filter) ? undefined : emailOf(op, value)
      if (email !== undefined) wanted.email = email
      break
    }
    case 'displayname':
      wanted.displayName = optionalText(singleValue(value), 'displayName')
      break
    case 'name':
      assignName(wanted, value === null ? withoutName : attributesOf(value, 'name'))
      break
    case 'name.formatted':
      wanted.name = optionalText(singleValue(value), 'name.formatted')
      break
    case 'name.givenname':
      wanted.givenName = optionalText(singleValue(value), 'name.givenName')
      break
    case 'name.familyname':
      wanted.familyName = optionalText(singleValue(value), 'name.familyName')
      break
    case 'title':
      wanted.title = optionalText(singleValue(value), 'title')
      break
    case 'preferredlanguage':
      wanted.preferredLanguage = optionalText(singleValue(value), 'preferredLanguage')
      break
    case 'externalid':
      wanted.externalId = optionalText(singleValue(value), 'externalId', longestName)
      break
    case 'active':
      wanted.active = readActive(singleValue(value))
      break
    default:
  }
}

const withoutName: Fields = { formatted: null, givenname: null, familyname: null }

/** The parts of `name` that are there. Both parts together are a full name, as `formatted` is. */
function assignName(wanted: UserFields, { formatted, givenname, familyname }: Fields): void {
  if (givenname !== undefined) wanted.givenName = optionalText(givenname, 'name.givenName')
  if (familyname !== undefined) wanted.familyName = optionalText(familyname, 'name.familyName')
  const { givenName, familyName } = wanted
  if (formatted !== undefined) wanted.name = optionalText(formatted, 'name.formatted')
  else if (givenName && familyName) wanted.name = `${givenName} ${familyName}`
}

/** The primary address, or the first. A second address of another type, which a directory adds, is ignored. */
function emailOf(op: Op, value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return undefined
  const emails = [value].flat().map((each) => attributesOf(each, 'emails'))
  const isOther = ({ type }: Fields) => op === 'add' && typeof type === 'string' && !/^work$/i.test(type)
  const { value: email } = emails.find(isPrimary) ?? emails.find((each) => !isOther(each)) ?? {}
  return email === undefined ? undefined : requiredText(email, 'emails.value')
}

const isPrimary = ({ primary }: Fields) => primary === true || (typeof primary === 'string' && /^true$/i.test(primary))

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
