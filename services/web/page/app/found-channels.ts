import type { Client, KnownChannel } from '@parley/client'
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { ignoreFailure } from './problems.ts'

const mostAnswered = 50

/**
 * Channels by the names that stand in texts: those that the person has joined are known; for others the server is asked, once for each
 * first word of a name.
 */
export function createFoundChannels(client: Client, joined: ReadonlySignal<readonly KnownChannel[]>) {
  const known = computed(() => new Map(joined.value.map(({ id, name }) => [name.toLowerCase(), id])))
  const asked = new Map<string, Signal<ReadonlyMap<string, string>>>()

  function find(word: string): Signal<ReadonlyMap<string, string>> {
    const found = signal<ReadonlyMap<string, string>>(new Map())
    asked.set(word, found)
    const query = { q: word, members: 'false', limit: mostAnswered } as const
    client.request('GET /channels', { query }).then(({ channels }) => {
      found.value = new Map(channels.map(({ id, name }) => [name.toLowerCase(), id]))
    }, ignoreFailure)
    return found
  }

  /**
   * Answers the first of these names that is the name of a channel. They begin with the same word and go from long to
   * short.
   */
  return (names: readonly string[]): { name: string; id: string } | undefined => {
    const among = (ids: ReadonlyMap<string, string>) => {
      const name = names.find((each) => ids.has(each.toLowerCase()))
      return name === undefined ? undefined : { name, id: ids.get(name.toLowerCase())! }
    }
    const word = names.at(-1)!.toLowerCase()
    return among(known.value) ?? among((asked.get(word) ?? find(word)).value)
  }
}
