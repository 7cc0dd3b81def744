import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessPlace, type PlaceInPath, wireChannelId } from '@parley/access'
import { ChannelPreferences, Id, onlyUsers, refusals } from '@parley/contract'
import { type Database, type Reader, record, type Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import type { Deps } from '@parley/service'
import { type Static, Type } from 'typebox'

const ChangedPreferences = Type.Partial(ChannelPreferences)
type ChangedPreferences = Static<typeof ChangedPreferences>
const PlacePreferences = Type.Object({ channelId: Type.String(), ...ChannelPreferences.properties })
type PlacePreferences = Static<typeof PlacePreferences>

const fields = ['isMuted', 'isFavourite', 'notifiesOfAll'] as const

const shape = {
  description:
    'Fields that are left out stay as they are. The caller’s other streams get the event UPDATE_CHANNEL_PREFERENCES. The unread counts do ' +
    'not change.',
  body: ChangedPreferences,
  response: { 200: PlacePreferences, ...refusals(400, 401, 403, 404) },
}
const SetForChannel = {
  summary: 'Choose the notifications of a channel, or make it a favourite',
  params: Type.Object({ channelId: Id }),
  ...shape,
}
const SetForConversation = {
  summary: 'Mute a conversation, or make it a favourite',
  params: Type.Object({ conversationId: Id }),
  ...shape,
}

export const preferencesRoutes =
  ({ db }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.put('/channels/:channelId/preferences', { schema: SetForChannel }, ({ caller, params, body }) =>
      changePreferences(db, caller, params, body),
    )

    app.put('/conversations/:conversationId/preferences', { schema: SetForConversation }, ({ caller, params, body }) =>
      changePreferences(db, caller, params, body),
    )
  }

/** Sets what the body has. It does not lock the channel: only the row of this person changes. */
function changePreferences(
  db: Database,
  caller: Caller,
  place: PlaceInPath,
  change: ChangedPreferences,
): Promise<PlacePreferences> {
  return db.transaction().execute(async (trx) => {
    const channel = await accessPlace(trx, caller, place)
    const { userId } = caller
    const channelId = wireChannelId(channel)
    const key = { userId, channelId: channel.id }

    const before = await findPreferences(trx, key)
    if (fields.every((field) => (change[field] ?? before[field]) === before[field])) return { channelId, ...before }
    const now = await putPreferences(trx, key, change)
    if (!fields.some((field) => now[field])) await deletePreferences(trx, key)
    const payload = { channelId, ...now }
    await record(trx, { type: 'UPDATE_CHANNEL_PREFERENCES', payload, routing: onlyUsers(userId) })

    return payload
  })
}

interface Key {
  userId: string
  channelId: string
}

async function findPreferences(db: Reader, { userId, channelId }: Key): Promise<ChannelPreferences> {
  const row = await db
    .selectFrom('channelPreferences')
    .select(fields)
    .where('userId', '=', userId)
    .where('channelId', '=', channelId)
    .executeTakeFirst()
  return row ?? { isMuted: false, isFavourite: false, notifiesOfAll: false }
}

/** Changes only the given fields, because another request may change the others at the same time. Returns all. */
const putPreferences = (
  trx: Transaction,
  key: Key,
  { isMuted, isFavourite, notifiesOfAll }: ChangedPreferences,
): Promise<ChannelPreferences> =>
  trx
    .insertInto('channelPreferences')
    .values({
      ...key,
      isMuted: isMuted ?? false,
      isFavourite: isFavourite ?? false,
      notifiesOfAll: notifiesOfAll ?? false,
    })
    .onConflict((conflict) =>
      conflict.columns(['userId', 'channelId']).doUpdateSet({ isMuted, isFavourite, notifiesOfAll }),
    )
    .returning(fields)
    .executeTakeFirstOrThrow()

const deletePreferences = (trx: Transaction, { userId, channelId }: Key) =>
  trx.deleteFrom('channelPreferences').where('userId', '=', userId).where('channelId', '=', channelId).execute()
