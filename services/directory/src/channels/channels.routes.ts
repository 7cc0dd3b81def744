import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Channel, HasMore, Id, ListingQuery, limits, Nullable, Ok, ReadState, refusals } from '@parley/contract'
import { type Deps, sendJsonText } from '@parley/service'
import { Type } from 'typebox'
import { changeChannel } from './channel.change.ts'
import { createChannel } from './channel.creation.ts'
import { deleteChannel } from './channel.deletion.ts'
import { listChannels } from './channels.queries.ts'

const ChannelParams = Type.Object({ channelId: Type.String() })

const Name = Type.String({
  minLength: 1,
  maxLength: limits.channelName,
  description: 'Unique among channels, in any case; stored as NFKC',
})
const details = {
  topic: Type.Optional(Nullable(Type.String({ maxLength: limits.topic }))),
  isPrivate: Type.Optional(Type.Boolean()),
  members: Type.Optional(Type.Array(Id, { description: 'User ids; the creator belongs to it anyway' })),
}

const ListChannels = {
  summary: 'The channels that the caller may read, by name',
  description: 'All public channels; private ones for their members and for admins.',
  querystring: ListingQuery(limits.pageSize),
  response: {
    200: Type.Object({
      channels: Type.Array(Type.Object({ ...Channel.properties, ...ReadState.properties })),
      hasMore: HasMore,
    }),
    ...refusals(400, 401),
  },
}

const CreateChannel = {
  summary: 'Create a channel',
  body: Type.Object({ name: Name, ...details }),
  response: { 200: Type.Object({ channel: Channel }), ...refusals(400, 401) },
}

const UpdateChannel = {
  summary: 'Change a channel',
  description: 'For its creator and admins. What is not given stays; `members` replaces the list.',
  params: ChannelParams,
  body: Type.Object({ name: Type.Optional(Name), ...details }),
  response: { 200: Type.Object({ channel: Channel }), ...refusals(400, 401, 403, 404) },
}

const DeleteChannel = {
  summary: 'Delete a channel with everything in it',
  description: 'For its creator and admins.',
  params: ChannelParams,
  response: { 200: Ok, ...refusals(401, 403, 404) },
}

export const channelRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/channels', { schema: ListChannels }, async ({ caller, query }, reply) =>
      sendJsonText(reply, await listChannels(db, caller, query)),
    )

    app.post('/channels', { schema: CreateChannel }, async ({ caller, ip, body }) => ({
      channel: await createChannel(db, { caller, ip, now: clock() }, body),
    }))

    app.put('/channels/:channelId', { schema: UpdateChannel }, async ({ caller, ip, params, body }) => ({
      channel: await changeChannel(db, { caller, ip, now: clock() }, params.channelId, body),
    }))

    app.delete('/channels/:channelId', { schema: DeleteChannel }, async ({ caller, ip, params }) => {
      await deleteChannel(db, { caller, ip, now: clock() }, params.channelId)
      return { success: true as const }
    })
  }
