import type { GroupRow } from '@parley/database'
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

export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group'

/** A group as directories see it. */
export type ScimGroup = Pick<GroupRow, 'id' | 'name' | 'externalId' | 'createdAt' | 'changedAt'> & {
  memberCount: number
}

/** The people to add and to remove. With `isWhole`, `add` has all members of the group. */
export interface MembersChange {
  isWhole: boolean
  add: Set<string>
  remove: Set<string>
}

/** The fields of a group that a directory sent. An absent field stays as it is; null removes the value. */
export interface WantedGroup {
  displayName?: string
  externalId?: string | null
  members?: MembersChange
}

/** A group as a Group of RFC 7643, 4.2. `members` are left out when there are none. */
export function groupResource(group: ScimGroup, baseUrl: string, members: readonly { id: string }[] = []) {
  const { id, name, externalId, createdAt } = group
  return {
    schemas: [groupSchema],
    id,
    ...(externalId !== null && { externalId }),
    displayName: name,
    ...(members.length > 0 && {
      members: members.map((member) => ({
        value: member.id,
        $ref: `${baseUrl}/scim/v2/Users/${member.id}`,
        type: 'User',
      })),
    }),
    meta: {
      resourceType: 'Group',
      created: new Date(createdAt).toISOString(),
      lastModified: new Date(group.changedAt ?? createdAt).toISOString(),
      location: `${baseUrl}/scim/v2/Groups/${id}`,
      version: groupVersion(group),
    },
  }
}

/** The ETag of a group. It contains the number of members, because removing a person from Parley changes only that number. */
export const groupVersion = ({ changedAt, createdAt, memberCount }: ScimGroup): string =>
  `W/"${changedAt ?? createdAt}-${memberCount}"`

/** A whole Group as a directory sends it. Missing fields are removed. @throws ProtocolRefusal 400. */
export function readGroup(body: unknown): WantedGroup & { displayName: string } {
  const wanted: WantedGroup = { externalId: null, members: { isWhole: true, add: new Set(), remove: new Set() } }
  assignAll(wanted, 'replace', fieldsOf(body, 'The body'))
  const { displayName } = wanted
  if (displayName === undefined) throw scimRefusal(400, 'displayName is missing', 'invalidValue')
  return { ...wanted, displayName }
}

/** The fields that a PATCH changes. Its operations apply one after the other. @throws ProtocolRefusal 400. */
export function readGroupPatch(body: unknown): WantedGroup {
  const wanted: WantedGroup = {}
  for (const { op, path, value } of readOperations(body)) {
    if (path === undefined) assignAll(wanted, op, fieldsOf(value, 'The value of an operation without a path'))
    else assign(wanted, op, path, value)
  }
  return wanted
}

type Op = Operation['op']

function assignAll(wanted: WantedGroup, op: Op, fields: Fields): void {
  for (const [name, value] of Object.entries(fields)) assign(wanted, op, name, value)
}

const ownSchema = /^urn:ietf:params:scim:schemas:core:2\.0:group:/i
const someMembers = /^members\s*\[\s*value\s+eq\s+"[^"\\]*"(?:\s+or\s+value\s+eq\s+"[^"\\]*")*\s*\](?:\.value)?$/i
/** The most members, and the most characters, of a path with a filter. */
const longestPath = { members: 1_000, characters: 100_000 }

/** Unknown attributes and those of extensions are ignored. */
function assign(wanted: WantedGroup, op: Op, written: string, value: unknown): void {
  const path = written.replace(ownSchema, '').trim()
  const members = readMembersOfPath(path)
  if (members) {
    if (op !== 'remove') throw scimRefusal(400, 'Members can only be removed by such a path', 'invalidPath')
    changeMembers(wanted, 'remove', members)
    return
  }
  if (/[[\]]/.test(path)) throw scimRefusal(400, 'A path has a form that is not allowed', 'invalidPath')
  switch (path.toLowerCase()) {
    case 'displayname':
      wanted.displayName = requiredText(op === 'remove' ? null : singleValue(value), 'displayName')
      break
    case 'externalid':
      wanted.externalId = op === 'remove' ? null : optionalText(singleValue(value), 'externalId', longestName)
      break
    case 'members':
    case 'members.value':
      // Some directories remove members by their values. Without values all members are removed.
      if (op === 'remove' && value === undefined) changeMembers(wanted, 'replace', [])
      else changeMembers(wanted, op, readMembers(value))
      break
    default:
  }
}

/** The ids in a path such as `members[value eq "…" or value eq "…"]`; undefined for another path. @throws ProtocolRefusal 400. */
function readMembersOfPath(path: string): string[] | undefined {
  if (path.length > longestPath.characters) throw scimRefusal(400, 'A path is too long', 'invalidPath')
  if (!someMembers.test(path)) return undefined
  const ids = Array.from(path.matchAll(/"([^"]*)"/g), ([, id]) => id!.toLowerCase())
  if (ids.length <= longestPath.members) return ids
  throw scimRefusal(400, `A path may name at most ${longestPath.members} members`, 'invalidPath')
}

function changeMembers(wanted: WantedGroup, op: Op, ids: readonly string[]): void {
  wanted.members ??= { isWhole: false, add: new Set(), remove: new Set() }
  const { members } = wanted
  if (op === 'replace') {
    members.isWhole = true
    members.add.clear()
    members.remove.clear()
  }
  for (const id of ids) {
    members[op === 'remove' ? 'remove' : 'add'].add(id)
    members[op === 'remove' ? 'add' : 'remove'].delete(id)
  }
}

const maxMembers = 50_000

function readMembers(value: unknown): string[] {
  if (value === null || value === undefined) return []
  const members = Array.isArray(value) ? value : [value]
  if (members.length > maxMembers) {
    throw scimRefusal(400, `members may have at most ${maxMembers} entries`, 'invalidValue')
  }
  return members.map((each) =>
    requiredText(typeof each === 'string' ? each : attributesOf(each, 'A member').value, 'members.value').toLowerCase(),
  )
}
