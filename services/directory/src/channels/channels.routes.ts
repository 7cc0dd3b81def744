import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessChannel } from '@parley/access'
import {
  Channel,
  HasMore,
  Id,
  IdempotencyHeaders,
  ListingQuery,
  limits,
  Ok,
  PageLimit,
  ReadState,
  refusals,
  Timestamp,
} from '@parley/contract'
import { joinChannel, leaveChannel } from '@parley/membership'
import { type Deps, sendJsonText } from '@parley/service'
import { Type } from 'typebox'
import { listChannelMembers } from '../people/people.queries.ts'
import { changeChannel, createChannel, deleteChannel } from './channel-changes.ts'
import { findChannelSummary, findListedChannel, listChannels } from './channels.queries.ts'

const ChannelParams = Type.Object({ channelId: Type.String() })

const Name = Type.String({
  minLength: 1,
  maxLength: limits.channelName,
  description: 'Unique among channels, in any case; stored as NFKC',
})
const details = {
  topic: Type.Optional(Type.String({ maxLength: limits.topic, description: 'An empty text stands for no topic' })),
  isPrivate: Type.Optional(Type.Boolean()),
  members: Type.Optional(Type.Array(Id, { description: 'User ids; the creator belongs to it anyway' })),
}

const isMember = Type.Boolean({ description: 'Whether the caller joined it or was added' })
const ListedChannel = Type.Object({ ...Channel.properties, isMember, ...ReadState.properties })
const ChannelSummary = Type.Omit(ListedChannel, ['members'])

const ListChannels = {
  summary: 'The channels that the caller may read, by name',
  description: 'All public channels; private ones for their members and for admins.',
  querystring: Type.Object({
    ...ListingQuery(limits.pageSize).properties,
    scope: Type.Optional(
      Type.Enum(['all', 'joined'], { description: '`joined`: only channels that the caller joined or was added to' }),
    ),
    members: Type.Optional(Type.Enum(['true', 'false'], { description: '`false`: channels come without `members`' })),
    q: Type.Optional(
      Type.String({
        maxLength: limits.topic,
        description: 'Public channels, and the caller’s own, with this in any part of name or topic',
      }),
    ),
  }),
  response: {
    200: Type.Object({
      channels: Type.Array(
        Type.Object({ ...ListedChannel.properties, members: Type.Optional(ListedChannel.properties.members) }),
      ),
      hasMore: HasMore,
    }),
    ...refusals(400, 401),
  },
}

const GetChannel = {
  summary: 'One channel, as it stands in the listing',
  params: ChannelParams,
  response: { 200: Type.Object({ channel: ListedChannel }), ...refusals(401, 403, 404) },
}

const ListMembers = {
  summary: 'The members of a channel, by name',
  params: ChannelParams,
  querystring: Type.Object({
    limit: PageLimit(),
    after: Type.Optional(Type.String({ description: 'Id of the last member of the page before' })),
    q: Type.Optional(
      Type.String({
        maxLength: limits.email,
        description: 'Those of whom a word of the name, or the address, begins with this, in the order of these words',
      }),
    ),
  }),
  response: {
    200: Type.Object({ members: Type.Array(Type.Object({ id: Id, userName: Type.String() })), hasMore: HasMore }),
    ...refusals(400, 401, 403, 404),
  },
}

const CreateChannel = {
  summary: 'Create a channel',
  headers: IdempotencyHeaders,
  body: Type.Object({ name: Name, ...details }),
  response: { 200: Type.Object({ channel: Channel }), ...refusals(400, 401, 409) },
}

const ChangedChannel = Type.Object({
  ...Channel.properties,
  updatedAt: { ...Timestamp, description: 'When it last changed; when it was created, if it never has' },
})

const UpdateChannel = {
  summary: 'Change a channel',
  description: 'For its creator and admins. What is not given stays; `members` replaces the list.',
  params: ChannelParams,
  body: Type.Object({ name: Type.Optional(Name), ...details }),
  response: { 200: Type.Object({ channel: ChangedChannel }), ...refusals(400, 401, 403, 404) },
}

const DeleteChannel = {
  summary: 'Delete a channel with everything in it',
  description: 'For its creator and admins.',
  params: ChannelParams,
  response: { 200: Ok, ...refusals(401, 403, 404) },
}

const JoinChannel = {
  summary: 'Join a public channel',
  description:
    'What was written there before counts as read. Idempotent. A private channel is joined by being added to its `members`: 403 for ' +
    'admins who are no members, 404 for everybody else.',
  params: ChannelParams,
  response: { 200: Type.Object({ channel: ChannelSummary }), ...refusals(401, 403, 404) },
}

const LeaveChannel = {
  summary: 'Leave a channel',
  description:
    'A creator who leaves keeps the right to change and delete the channel. Who leaves a private channel and is no admin cannot read ' +
    'it any more; to leave it once more is 404. Otherwise idempotent.',
  params: ChannelParams,
  response: { 200: Type.Object({ channel: ChannelSummary }), ...refusals(401, 404) },
}

export const channelRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/channels', { schema: ListChannels }, async ({ caller, query }, reply) =>
      sendJsonText(reply, await listChannels(db, caller, { ...query, members: query.members !== 'false' })),
    )

    app.get('/channels/:channelId/members', { schema: ListMembers }, async ({ caller, params, query }, reply) => {
      const channel = await accessChannel(db, caller, params.channelId)
      return sendJsonText(reply, await listChannelMembers(db, channel, query))
    })

    app.get('/channels/:channelId', { schema: GetChannel }, async ({ caller, params }) => {
      const { id } = await accessChannel(db, caller, params.channelId)
      return { channel: await findListedChannel(db, caller, id) }
    })

    app.post('/channels', { schema: CreateChannel }, async ({ caller, ip, headers, body }) => ({
      channel: await createChannel(db, { caller, ip, now: clock() }, body, headers['idempotency-key']),
    }))

    app.put('/channels/:channelId', { schema: UpdateChannel }, async ({ caller, ip, params, body }) => {
      const channel = await changeChannel(db, { caller, ip, now: clock() }, params.channelId, body)
      return { channel: { ...channel, updatedAt: channel.updatedAt ?? channel.createdAt } }
    })

    app.post('/channels/:channelId/join', { schema: JoinChannel }, async ({ caller, params }) =>
      db.transaction().execute(async (trx) => {
        const { id } = await joinChannel(trx, { caller, now: clock() }, params.channelId)
        return { channel: await findChannelSummary(trx, caller, id) }
      }),
    )

    app.post('/channels/:channelId/leave', { schema: LeaveChannel }, async ({ caller, ip, params }) =>
      db.transaction().execute(async (trx) => {
        const { id } = await leaveChannel(trx, { caller, ip, now: clock() }, params.channelId)
        return { channel: await findChannelSummary(trx, caller, id) }
      }),
    )

    app.delete('/channels/:channelId', { schema: DeleteChannel }, async ({ caller, ip, params }) => {
      await deleteChannel(db, { caller, ip, now: clock() }, params.channelId)
      return { success: true as const }
    })
  }
