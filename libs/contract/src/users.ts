import { type Static, Type } from 'typebox'
import { Id, Nullable, Timestamp } from './fields.ts'

export const Role = Type.Enum(['admin', 'member', 'guest'])
export type Role = Static<typeof Role>

/** What a person tells the others about themselves for a while, such as “on holiday”. Presence is something else. */
export const CustomStatus = Type.Object({
  text: Type.String({ description: 'May be empty when there is an emoji' }),
  emoji: Nullable(Type.String()),
  expiresAt: Nullable(Type.Integer({ description: 'When the server removes it, in epoch milliseconds' })),
})
export type CustomStatus = Static<typeof CustomStatus>

export const UserView = Type.Object({
  id: Id,
  userName: Type.String({ description: 'Unique; what mentions use' }),
  displayName: Nullable(Type.String({ description: 'The full name' })),
  title: Nullable(Type.String({ description: 'What they do in the organisation' })),
  email: Type.String(),
  role: Role,
  isAdmin: Type.Boolean({ description: 'Whether the role is admin' }),
  isActive: Type.Boolean({ description: 'false: deactivated, and cannot sign in' }),
  isBot: Type.Boolean(),
  avatarVersion: Nullable(Type.String({ description: 'Of the avatar at /users/{id}/avatar/{version}' })),
  expiresAt: Nullable(
    Type.Integer({
      description:
        'When the guest is deactivated, in epoch milliseconds. null for guests without a limit, and for everybody else',
    }),
  ),
  customStatus: Nullable(CustomStatus),
})
export type UserView = Static<typeof UserView>

export const User = Type.Object({ ...UserView.properties, createdAt: Timestamp })
export type User = Static<typeof User>

/** A bot as admins see it. */
export const Bot = Type.Object({
  ...User.properties,
  interactivityUrl: Nullable(Type.String({ description: 'Where clicks on the buttons of its messages go' })),
})
export type Bot = Static<typeof Bot>

export const Group = Type.Object({
  id: Id,
  handle: Type.String({ description: 'What mentions use. No person and no other group has it' }),
  name: Type.String(),
  memberCount: Type.Integer(),
  source: Type.Enum(['local', 'scim', 'sso'], {
    description: 'local: admins of this server change the group. scim, sso: a directory changes it',
  }),
  createdAt: Timestamp,
})
export type Group = Static<typeof Group>

export const PresenceStatus = Type.Enum(['online', 'away', 'offline'])
export type PresenceStatus = Static<typeof PresenceStatus>

export const Presence = Type.Object({
  userId: Id,
  status: PresenceStatus,
  lastSeen: Timestamp,
})
export type Presence = Static<typeof Presence>
