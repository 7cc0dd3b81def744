import type { CustomStatus, EventPayload, User } from '@parley/contract'
import { sql } from 'kysely'
import { isUnset } from './statements.ts'
import type { UserRow } from './tables.ts'

/** The columns that `userView` needs. */
export const userFields = [
  'id',
  'userName',
  'displayName',
  'title',
  'email',
  'role',
  'isAdmin',
  'isBot',
  'deactivatedAt',
  'avatarVersion',
  'guestExpiresAt',
  'statusText',
  'statusEmoji',
  'statusExpiresAt',
  'createdAt',
] as const satisfies (keyof UserRow)[]
export type UserFields = Pick<UserRow, (typeof userFields)[number]>

/** A person as the API returns them. */
export const userView = (user: UserFields): User => ({
  ...userUpdatePayload(user),
  createdAt: user.createdAt,
})

/** The payload of UPDATE_USER. */
export const userUpdatePayload = ({
  deactivatedAt,
  ...user
}: Omit<UserFields, 'createdAt'>): EventPayload<'UPDATE_USER'> => ({
  id: user.id,
  userName: user.userName,
  displayName: user.displayName,
  title: user.title,
  email: user.email,
  role: user.role,
  isAdmin: user.isAdmin,
  isActive: deactivatedAt === null,
  isBot: user.isBot,
  avatarVersion: user.avatarVersion,
  expiresAt: user.role === 'guest' ? user.guestExpiresAt : null,
  customStatus: customStatusOf(user),
})

export type CustomStatusFields = Pick<UserFields, 'statusText' | 'statusEmoji' | 'statusExpiresAt'>

const customStatusOf = ({ statusText, statusEmoji, statusExpiresAt }: CustomStatusFields): CustomStatus | null =>
  statusText === null ? null : { text: statusText, emoji: statusEmoji, expiresAt: statusExpiresAt }

/** The custom status of a row of `users` as JSON, in SQL. */
export const customStatusText = `case when status_text is not null then
  json_build_object('text', status_text, 'emoji', status_emoji, 'expiresAt', status_expires_at) end`

/** `userView` in SQL: the columns of a row of `users`, named as in `User`. */
export const userColumns = sql`
  id, user_name as "userName", display_name as "displayName", title, email, role, is_admin as "isAdmin",
  deactivated_at is null as "isActive", is_bot as "isBot", avatar_version as "avatarVersion",
  case when role = 'guest' then guest_expires_at end as "expiresAt",
  ${sql.raw(customStatusText)} as "customStatus",
  created_at as "createdAt"`

/** Whether a user of the statement may act: they are not deactivated, and they are not a guest whose time is over. */
export const isActive = (now: number) => sql<boolean>`(
  ${isUnset('deactivated_at')} and (guest_expires_at is null or role <> 'guest' or guest_expires_at > ${now}))`

/** `isActive` as a text, for the row of `users` with this alias; `now` is a parameter such as `$1`. */
export const isActiveText = (user: string, now: string): string =>
  `coalesce(${user}.deactivated_at, 0) = 0 and (${user}.guest_expires_at is null or ${user}.role <> 'guest' or ${user}.guest_expires_at > ${now})`
