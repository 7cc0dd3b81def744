import { type Static, Type } from 'typebox'
import { Id, Nullable, Timestamp } from './fields.ts'

export const Webhook = Type.Object({
  id: Id,
  name: Type.String(),
  channelId: Type.String({ description: 'The only channel it posts to' }),
  createdAt: Timestamp,
  createdBy: Id,
  lastPostedAt: Nullable({ ...Timestamp, description: 'When the webhook last posted, in epoch milliseconds' }),
})
export type Webhook = Static<typeof Webhook>

export const ListedWebhook = Type.Object({
  ...Webhook.properties,
  isOrphaned: Type.Boolean({
    description:
      'Whether `createdBy` has left or is no longer an admin. The webhook can still post, but nobody is responsible for it',
  }),
})
export type ListedWebhook = Static<typeof ListedWebhook>

export const ServerSettings = Type.Object({ name: Type.String() })
export type ServerSettings = Static<typeof ServerSettings>
