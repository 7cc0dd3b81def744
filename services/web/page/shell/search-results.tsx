import type { Message } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { textOf } from '../app/problems.ts'
import { nameOfPlace, type Workspace } from '../app/workspace.ts'
import { MessageArticle } from '../messages/message.tsx'
import { t } from '../texts/texts.ts'

/** What the search found, newest first. */
export function SearchResults({ workspace, query }: { workspace: Workspace; query: string }) {
  const found = useSignal<readonly Message[] | undefined>(undefined)
  const failure = useSignal<string | null>(null)
  const isReady = workspace.isReady.value

  useEffect(() => {
    if (!isReady) return
    const leaving = new AbortController()
    search(workspace, query, leaving.signal).then(
      (messages) => {
        found.value = messages
      },
      (error) => {
        if (!leaving.signal.aborted) failure.value = textOf(error)
      },
    )
    return () => leaving.abort()
  }, [query, isReady])

  return (
    <main class="main">
      <header class="main-head">
        <h1>{t('Search results')}</h1>
        <span class="topic" dir="auto">
          {query}
        </span>
      </header>
      {failure.value !== null && (
        <p class="alert" role="alert">
          {failure.value}
        </p>
      )}
      <section class="page" aria-label={t('Search results')} aria-busy={found.value === undefined}>
        {found.value?.length === 0 && <p>{t('Nothing was found')}</p>}
        {found.value?.map((message) => {
          const place = workspace.place(message.channelId)
          return (
            <div key={message.id}>
              <p class="quiet">{place && (place.kind === 'channel' ? `#${nameOfPlace(place)}` : nameOfPlace(place))}</p>
              <MessageArticle message={message} workspace={workspace} isHead place="search" />
            </div>
          )
        })}
      </section>
    </main>
  )
}

/** Words, and the operators `from:`, `in:`, `before:` and `after:` (days as 2026-11-22). */
async function search(workspace: Workspace, query: string, signal: AbortSignal): Promise<Message[]> {
  const filters: { authorId?: string; channelId?: string; from?: number; to?: number } = {}
  const words = query.split(/\s+/).filter((word) => {
    const [, operator, value] = /^(from|in|before|after):(.+)$/.exec(word) ?? []
    if (!operator || !value) return true
    const name = value.replace(/^[@#]/, '').toLowerCase()
    const day = new Date(`${value}T00:00`).getTime()
    if (operator === 'from')
      filters.authorId = [...workspace.users.value.values()].find(({ userName }) => userName.toLowerCase() === name)?.id
    else if (operator === 'in')
      filters.channelId = workspace.channels.value.find((channel) => channel.name.toLowerCase() === name)?.id
    else if (Number.isNaN(day)) return true
    else if (operator === 'before') filters.to = day
    else filters.from = day
    return false
  })
  const { messages } = await workspace.client.request('GET /search/messages', {
    query: { q: words.join(' '), ...filters },
    signal,
  })
  return messages
}
