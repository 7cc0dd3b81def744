import { ApiError, limits } from '@parley/contract'
import { audit, type DirectoryKind, type Transaction, type UserRow } from '@parley/database'
import { readName, toValidName } from './names.ts'
import type { Actor } from './roles.ts'
import { recordUserUpdate } from './user-updates.ts'
import { lockUser } from './users.ts'

/** An absent field keeps its value. Null or a blank text removes it. */
export interface Profile {
  displayName?: string | null | undefined
  title?: string | null | undefined
}

/** Who sets a profile. */
interface ProfileActor extends Pick<Actor, 'actorId' | 'ip'> {
  /** The directory that provides the profile; null when people set their own. */
  directory: DirectoryKind | null
}

/**
 * Sets display name and title of a person, and records UPDATE_USER if they changed. Once a directory has provided them,
 * only a directory can change them.
 * @throws ApiError 400 when a text is refused, 401 when the person was removed, 409 when a directory provides their
 * profile and somebody else sets it.
 */
export async function updateProfile(
  trx: Transaction,
  userId: string,
  profile: Profile,
  { directory, actorId, ip }: ProfileActor,
): Promise<UserRow> {
  const before = await lockUser(trx, userId)
  if (before.managedBy !== null && directory === null) throw managedByDirectory()
  const after = {
    displayName: read(profile.displayName, 'displayName', before.displayName, directory),
    title: read(profile.title, 'title', before.title, directory),
    managedBy: directory ?? before.managedBy,
  }
  const { displayName, title, managedBy } = before
  const isSame = displayName === after.displayName && title === after.title
  if (isSame && managedBy === after.managedBy) return before

  const user = await trx
    .updateTable('users')
    .set(after)
    .where('id', '=', userId)
    .returningAll()
    .executeTakeFirstOrThrow()
  if (isSame) return user
  await recordUserUpdate(trx, user)
  await audit(trx, {
    action: 'user.profile.update',
    actorId,
    targetType: 'user',
    targetId: userId,
    metadata: { from: { displayName, title }, to: { displayName: after.displayName, title: after.title } },
    ip,
  })
  return user
}

/** A text of a directory is shortened and cleaned instead of refused, because the directory cannot be asked for another one. */
function read(
  text: string | null | undefined,
  what: 'displayName' | 'title',
  present: string | null,
  directory: DirectoryKind | null,
): string | null {
  if (text === undefined) return present
  if (text === null || text.trim() === '') return null
  return directory === null ? readName(text, what, limits[what]) : toValidName(text, limits[what])
}

const managedByDirectory = () =>
  new ApiError(
    409,
    'managed_by_directory',
    'Your organisation’s directory provides display name and title. Please have them changed there',
  )
