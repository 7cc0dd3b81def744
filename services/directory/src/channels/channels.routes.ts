import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessChannel } from '@parley/access'
import {
  Channel,
  ChannelPreferences,
  HasMore,
  Id,
  IdempotencyHeaders,
  ListingOrder,
  ListingQuery,
  limits,
  NameText,
  Ok,
  PageLimit,
  ReadState,
  refusals,
  Timestamp,
} from '@parley/contract'
import { listGroupsOfChannel } from '@parley/groups'
import type { Caller } from '@parley/identity'
import { joinChannel, leaveChannel } from '@parley/membership'
import { createTurns, type Deps, sendJsonText } from '@parley/service'
import { Type } from 'typebox'
import { listChannelMembers } from '../people/people.queries.ts'
import { changeChannel, deleteChannel } from './channel-changes.ts'
import { findChannelSummary, findListedChannel, listChannels } from './channels.queries.ts'
import { createChannel } from './new-channel.ts'

const ChannelParams = Type.Object({ channelId: Type.String() })

const Name = NameText(limits.channelName, { description: 'Unique among channels, ignoring case' })
const People = (description: string) => Type.Optional(Type.Array(Id, { maxItems: limits.groupMembers, description }))
const details = {
  topic: Type.Optional(Type.String({ maxLength: limits.topic, description: 'An empty text means no topic' })),
  isPrivate: Type.Optional(Type.Boolean()),
  members: People('User ids. The creator is always a member'),
}

const isMember = Type.Boolean({ description: 'Whether the caller joined the channel or was added' })
const ListedChannel = Type.Object({
  ...Channel.properties,
  isMember,
  ...ChannelPreferences.properties,
  ...ReadState.properties,
})
const ChannelSummary = Type.Omit(ListedChannel, ['members'])
const groups = Type.Optional(
  Type.Array(Id, { description: 'Ids of the groups whose people are members; absent for guests' }),
)

const ListChannels = {
  summary: 'List the channels that the caller may read, by name',
  description:
    'Everybody except guests gets all public channels. Private channels are listed for their members and for admins. Guests get only ' +
    'the channels of which they are members.',
  querystring: Type.Object({
    ...ListingQuery(limits.pageSize).properties,
    order: ListingOrder,
    scope: Type.Optional(
      Type.Enum(['all', 'joined'], { description: '`joined`: only channels that the caller joined or was added to' }),
    ),
    members: Type.Optional(Type.Enum(['true', 'false'], { description: '`false`: the channels have no `members`' })),
    q: Type.Optional(
      Type.String({
        maxLength: limits.topic,
        description:
          'Only public channels and channels of the caller whose name or topic contains this text. Case and accents are ignored',
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
  summary: 'Get one channel as in the list, with its groups',
  params: ChannelParams,
  response: {
    200: Type.Object({ channel: Type.Object({ ...ListedChannel.properties, groups }) }),
    ...refusals(401, 403, 404),
  },
}

const ListMembers = {
  summary: 'List the members of a channel, by name',
  params: ChannelParams,
  querystring: Type.Object({
    limit: PageLimit(),
    after: Type.Optional(Type.String({ description: 'Id of the last member of the previous page' })),
    order: ListingOrder,
    q: Type.Optional(
      Type.String({
        maxLength: limits.email,
        description:
          'Only people whose address, or a word of whose name, begins with this text, ordered by these words. Case and accents are ignored',
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
  description: 'For everybody except guests.',
  headers: IdempotencyHeaders,
  body: Type.Object({ name: Name, ...details }),
  response: { 200: Type.Object({ channel: Channel }), ...refusals(400, 401, 403, 409) },
}

const ChangedChannel = Type.Object({
  ...Channel.properties,
  groups,
  updatedAt: { ...Timestamp, description: 'When it last changed, or when it was created' },
})

const UpdateChannel = {
  summary: 'Change a channel',
  description:
    'For its creator and admins. Fields that are left out stay as they are. `members` replaces the list of people who are members by hand, and ' +
    '`groups` replaces the list of groups. `addMembers` only adds people and `removeMembers` only removes them, so several requests at the same ' +
    'time are safe.',
  params: ChannelParams,
  body: Type.Object({
    name: Type.Optional(Name),
    ...details,
    addMembers: People('Ids of the people to add to the present members'),
    removeMembers: People('Ids of the people to remove from the members. The creator stays'),
    groups: Type.Optional(
      Type.Array(Id, {
        maxItems: 100,
        description: 'Ids of groups. People are members as long as they are in one of them',
      }),
    ),
  }),
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
    'Earlier messages count as read. Idempotent. People cannot join a private channel by themselves: somebody must add them to its ' +
    '`members`. For a private channel, admins who are not members get 403, and everybody else gets 404.',
  params: ChannelParams,
  response: { 200: Type.Object({ channel: ChannelSummary }), ...refusals(401, 403, 404) },
}

const LeaveChannel = {
  summary: 'Leave a channel',
  description:
    'A creator who leaves may still change and delete the channel. A person who leaves a private channel and is not an admin can no longer ' +
    'read it, and gets 404 when they leave it again. In all other cases leaving is idempotent.',
  params: ChannelParams,
  response: { 200: Type.Object({ channel: ChannelSummary }), ...refusals(400, 401, 404) },
}

export const channelRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const inTurn = createTurns()
    /** Groups are not shown to guests. */
    const groupsFor = async ({ role }: Caller, channelId: string) =>
      role === 'guest' ? {} : { groups: await listGroupsOfChannel(db, channelId) }

    app.get('/channels', { schema: ListChannels }, async ({ caller, query }, reply) =>
      sendJsonText(reply, await listChannels(db, caller, { ...query, members: query.members !== 'false' })),
    )

    app.get('/channels/:channelId/members', { schema: ListMembers }, async ({ caller, params, query }, reply) => {
      const channel = await accessChannel(db, caller, params.channelId)
      return sendJsonText(reply, await listChannelMembers(db, channel, query))
    })

    app.get('/channels/:channelId', { schema: GetChannel }, async ({ caller, params }) => {
      const { id } = await accessChannel(db, caller, params.channelId)
      return { channel: { ...(await findListedChannel(db, caller, id)), ...(await groupsFor(caller, id)) } }
    })

    app.post('/channels', { schema: CreateChannel }, async ({ caller, ip, headers, body }) => ({
      channel: await createChannel(db, { caller, ip, now: clock() }, body, headers['idempotency-key']),
    }))

    app.put('/channels/:channelId', { schema: UpdateChannel }, async ({ caller, ip, params, body }) => {
      const channel = await inTurn(params.channelId, () =>
        changeChannel(db, { caller, ip, now: clock() }, params.channelId, body),
      )
      const updatedAt = channel.updatedAt ?? channel.createdAt
      return { channel: { ...channel, updatedAt, ...(await groupsFor(caller, channel.id)) } }
    })

    app.post('/channels/:channelId/join', { schema: JoinChannel }, async ({ caller, params }) =>
      inTurn(params.channelId, () =>
        db.transaction().execute(async (trx) => {
          const { id } = await joinChannel(trx, { caller, now: clock() }, params.channelId)
          return { channel: await findChannelSummary(trx, caller, id) }
        }),
      ),
    )

    app.post('/channels/:channelId/leave', { schema: LeaveChannel }, async ({ caller, ip, params }) =>
      inTurn(params.channelId, () =>
        db.transaction().execute(async (trx) => {
          const { id } = await leaveChannel(trx, { caller, ip, now: clock() }, params.channelId)
          return { channel: await findChannelSummary(trx, caller, id) }
        }),
      ),
    )

    app.delete('/channels/:channelId', { schema: DeleteChannel }, async ({ caller, ip, params }) => {
      await inTurn(params.channelId, () => deleteChannel(db, { caller, ip, now: clock() }, params.channelId))
      return { success: true as const }
    })
  }
