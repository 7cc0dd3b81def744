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

const shape = {
  description:
    'Fields that are left out stay as they are. The caller’s other streams get the event UPDATE_CHANNEL_PREFERENCES. The unread counts do ' +
    'not change.',
  body: ChangedPreferences,
  response: { 200: PlacePreferences, ...refusals(400, 401, 403, 404) },
}
const SetForChannel = {
  summary: 'Mute a channel, or make it a favourite',
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
  { isMuted, isFavourite }: ChangedPreferences,
): Promise<PlacePreferences> {
  return db.transaction().execute(async (trx) => {
    const channel = await accessPlace(trx, caller, place)
    const { userId } = caller
    const channelId = wireChannelId(channel)
    const key = { userId, channelId: channel.id }

    const before = await findPreferences(trx, key)
    const wanted = { isMuted: isMuted ?? before.isMuted, isFavourite: isFavourite ?? before.isFavourite }
    if (wanted.isMuted === before.isMuted && wanted.isFavourite === before.isFavourite) return { channelId, ...before }
    const now = await putPreferences(trx, key, { isMuted, isFavourite })
    if (!now.isMuted && !now.isFavourite) await deletePreferences(trx, key)
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
    .select(['isMuted', 'isFavourite'])
    .where('userId', '=', userId)
    .where('channelId', '=', channelId)
    .executeTakeFirst()
  return row ?? { isMuted: false, isFavourite: false }
}

/** Changes only the given fields, because another request may change the other one at the same time. Returns both. */
const putPreferences = (
  trx: Transaction,
  key: Key,
  { isMuted, isFavourite }: ChangedPreferences,
): Promise<ChannelPreferences> =>
  trx
    .insertInto('channelPreferences')
    .values({ ...key, isMuted: isMuted ?? false, isFavourite: isFavourite ?? false })
    .onConflict((conflict) => conflict.columns(['userId', 'channelId']).doUpdateSet({ isMuted, isFavourite }))
    .returning(['isMuted', 'isFavourite'])
    .executeTakeFirstOrThrow()

const deletePreferences = (trx: Transaction, { userId, channelId }: Key) =>
  trx.deleteFrom('channelPreferences').where('userId', '=', userId).where('channelId', '=', channelId).execute()
