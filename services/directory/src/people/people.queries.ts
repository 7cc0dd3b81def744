import type { User } from '@parley/contract'
import type { Reader } from '@parley/database'

/** Everybody who is there, by name. */
export const listUsers = (db: Reader): Promise<User[]> =>
  db
    .selectFrom('users')
    .select(['id', 'userName', 'email', 'isAdmin', 'createdAt'])
    .where('removedAt', 'is', null)
    .orderBy('userNameKey')
    .execute()
