import { type Static, Type } from 'typebox'
import { Id, Nullable, Timestamp } from './fields.ts'

export const Webhook = Type.Object({
  id: Id,
  name: Type.String(),
  channelId: Type.String({ description: 'The only channel it posts to' }),
  createdAt: Timestamp,
  createdBy: Id,
  lastPostedAt: Nullable({ ...Timestamp, description: 'When it last posted, in epoch milliseconds' }),
})
export type Webhook = Static<typeof Webhook>

export const ListedWebhook = Type.Object({
  ...Webhook.properties,
  isOrphaned: Type.Boolean({
    description:
      'Whether `createdBy` is an admin no longer, or has left: it goes on posting, and nobody answers for it',
  }),
})
export type ListedWebhook = Static<typeof ListedWebhook>
