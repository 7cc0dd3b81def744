import type { Client, KnownChannel, KnownConversation, SyncEngine } from '@parley/client'
import type { ChannelPreferences } from '@parley/contract'
import { propertiesOf } from '../ui/stored-value.ts'
import { createChannelFinder } from './channel-finder.ts'
import type { EngineReads } from './engine-reads.ts'
import { createStoredMap } from './stored-map.ts'

export type PlaceDetails = KnownChannel | KnownConversation
export type Place = { kind: 'channel'; channel: KnownChannel } | { kind: 'direct'; conversation: KnownConversation }

export const nameOfPlace = (place: Place) =>
  place.kind === 'channel' ? place.channel.name : place.conversation.otherUser.userName

/** What channels and conversations have in common: the id, the read state, and what the person has set. */
export const detailsOf = (place: Place): PlaceDetails => (place.kind === 'channel' ? place.channel : place.conversation)

/** The conversations of the person, and the channels that they have joined, because a server may have very many. */
export function createPlaces(client: Client, engine: SyncEngine, myId: string, { read, keep }: EngineReads) {
  /** What the person has set for channels and conversations, by id, until the engine has it. */
  const unsavedPreferences = createStoredMap('set', myId, isChange)
  const find = (id: string) => engine.channel(id) ?? engine.conversation(id)
  const detailsOnServer = (id: string): PlaceDetails | undefined => read(`place:${id}`, () => find(id))
  const isFavourite = (id: string) => unsavedPreferences.all().get(id)?.isFavourite ?? find(id)?.isFavourite
  function favouritesFirst(ids: readonly string[]) {
    const favourites = ids.filter(isFavourite)
    return favourites.length > 0 ? [...favourites, ...ids.filter((id) => !isFavourite(id))] : ids
  }
  const channels = keep('channels', engine.channels)
  const channelIds = () => favouritesFirst(read('channels', engine.channelIds))
  const conversationIds = () => favouritesFirst(read('conversations', engine.conversationIds))

  return {
    /** The joined channels, sorted by name. */
    channels,
    /** The ids of the joined channels, first the favourites. */
    channelIds,
    /** Finds the channel that a text names. */
    findChannel: createChannelFinder(client, channels),
    conversations: () => read('conversations', engine.conversations),
    /** First the favourites. */
    conversationIds,
    /** The joined channels and then the conversations, in the order of the sidebar. */
    placeIds: () => [...channelIds(), ...conversationIds()],
    isFavourite,
    unsavedPreferences,
    totals: () => read('unread', engine.totals),
    /** The details of the channel or conversation with this id as the server has them, without `unsavedPreferences`. */
    detailsOnServer,
    /** The channel or conversation with this id, with `unsavedPreferences`. Undefined unless the person has joined it or has it open. */
    place(id: string): Place | undefined {
      const details = detailsOnServer(id)
      if (!details) return undefined
      const change = unsavedPreferences.all().get(id)
      const changed = change ? { ...details, ...change } : details
      return 'otherUser' in changed ? { kind: 'direct', conversation: changed } : { kind: 'channel', channel: changed }
    },
  }
}

const isChange = (value: unknown): value is Partial<ChannelPreferences> =>
  Object.entries(propertiesOf(value)).every(
    ([key, each]) => /^(is(Muted|Favourite)|notifiesOfAll)$/.test(key) && typeof each === 'boolean',
  )
