import type { Client, KnownChannel } from '@parley/client'
import { computed, type ReadonlySignal } from '@preact/signals'
import { createAnswers } from './answers.ts'

const mostAnswered = 50

/**
 * Channels by the names that stand in texts: those that the person has joined are known; for others the server is asked, once for each
 * first word of a name, and again after a failure.
 */
export function createFoundChannels(client: Client, joined: ReadonlySignal<readonly KnownChannel[]>) {
  const known = computed(() => new Map(joined.value.map(({ id, name }) => [name.toLowerCase(), id])))
  const found = createAnswers<ReadonlyMap<string, string>>()
  const find = (word: string) =>
    found(word, async () => {
      const query = { q: word, members: 'false', limit: mostAnswered } as const
      const { channels } = await client.request('GET /channels', { query })
      return new Map(channels.map(({ id, name }) => [name.toLowerCase(), id]))
    })

  /**
   * Answers the first of these names that is the name of a channel. They begin with the same word and go from long to
   * short.
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
