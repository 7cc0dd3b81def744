import type { Client, KnownChannel } from '@parley/client'
import { computed, type ReadonlySignal } from '@preact/signals'
import { createResponseCache } from './response-cache.ts'

const maxFound = 50

/**
 * Finds the channels whose names are in texts. The joined channels are known. Other channels are requested from the server, once for each
 * first word of a name, and again after a failure.
 */
export function createChannelFinder(client: Client, joined: ReadonlySignal<readonly KnownChannel[]>) {
  const known = computed(() => new Map(joined.value.map(({ id, name }) => [name.toLowerCase(), id])))
  const found = createResponseCache<ReadonlyMap<string, string>>()
  const find = (word: string) =>
    found(word, async () => {
      const query = { q: word, members: 'false', limit: maxFound } as const
      const { channels } = await client.request('GET /channels', { query })
      return new Map(channels.map(({ id, name }) => [name.toLowerCase(), id]))
    })

  /**
   * Returns the first of these names that is the name of a channel. The names begin with the same word, and the longest name is the
   * first.
   */
  return (names: readonly string[]): { name: string; id: string } | undefined => {
    const among = (ids: ReadonlyMap<string, string> | undefined) => {
      const name = names.find((each) => ids?.has(each.toLowerCase()))
      return name === undefined ? undefined : { name, id: ids!.get(name.toLowerCase())! }
    }
    const word = names.at(-1)!.toLowerCase()
    return among(known.value) ?? among(find(word))
  }
}
