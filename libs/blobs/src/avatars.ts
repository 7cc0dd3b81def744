import { recordJob, type Transaction } from '@parley/database'

/** The sides of the squares that an avatar is encoded to, in pixels. */
export const avatarSides = [64, 256] as const
export type AvatarSide = (typeof avatarSides)[number]

/** The key of an avatar in the blob store: as it was uploaded, or encoded to a square. */
export const avatarKey = (version: string, side: AvatarSide | 'original') => `avatars/${version}.${side}`

/** Everything that is stored of these versions. */
export const avatarKeys = (versions: readonly string[]): string[] =>
  versions.flatMap((version) => [...avatarSides, 'original' as const].map((side) => avatarKey(version, side)))

/**
 * Deletes a person's avatars, also those that the worker has not encoded yet, and records the job that deletes their bytes. The
 * row of the person must be locked. Served by avatars_of_user.
 */
export async function deleteAvatars(trx: Transaction, userId: string): Promise<void> {
  const deleted = await trx.deleteFrom('avatars').where('userId', '=', userId).returning('version').execute()
  if (deleted.length === 0) return
  await recordJob(trx, 'delete-blobs', { keys: avatarKeys(deleted.map(({ version }) => version)) })
}
