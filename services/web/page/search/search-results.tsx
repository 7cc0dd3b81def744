import type { Message } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { navigate, searchAddress } from '../app/address.ts'
import { SeveralPeople } from '../app/find-person.ts'
import type { Workspace } from '../app/workspace.ts'
import { FoundMessage } from '../messages/found-message.tsx'
import { t } from '../texts/texts.ts'
import { Empty } from '../ui/empty.tsx'
import { IconButton } from '../ui/icons.tsx'
import { attempt, textOf } from '../ui/problems.ts'
import { ShowMore } from '../ui/show-more.tsx'
import { ChooseAuthor } from './choose-author.tsx'
import { ChoosePlace } from './choose-place.tsx'
import { SeveralPlaces } from './find-place.ts'
import { useHighlights } from './highlights.ts'
import { pageSize, search } from './search.ts'
import { SearchFilters } from './search-filters.tsx'
import {
  exampleOfOperators,
  formatQuery,
  hasUnknownOperator,
  type Operator,
  operators,
  parseQuery,
  textOfWords,
} from './search-query.ts'
import { resultsOf } from './shown-results.ts'

/** The results of a search, newest first. */
export function SearchResults({ workspace, query }: { workspace: Workspace; query: string }) {
  const results = useMemo(() => resultsOf(workspace), [])
  const { found, hasMore } = results
  const page = useRef<HTMLDivElement>(null)
  const failure = useSignal<unknown>(null)
  const isReady = workspace.isReady.value
  const { role } = workspace.me.value

  useEffect(() => {
    if (!isReady || query === '' || found.value) return
    const controller = new AbortController()
    failure.value = null
    search(workspace, query, { signal: controller.signal }).then(addPage, (error) => {
      if (!controller.signal.aborted) failure.value = error
    })
    return () => controller.abort()
  }, [query, isReady, role])

  useLayoutEffect(() => {
    const { current } = page
    current!.scrollTop = results.scrollTop
    return () => {
      results.scrollTop = current!.scrollTop
    }
  }, [])

  /** Does nothing when the role of the person has changed meanwhile, because then the results are fetched again. */
  function addPage(messages: readonly Message[]) {
    if (workspace.me.peek().role !== role) return
    found.value = [...(found.value ?? []), ...messages]
    hasMore.value = messages.length === pageSize
  }

  async function showMore() {
    const next = await attempt(search(workspace, query, { before: found.value!.at(-1)?.id }))
    if (next) addPage(next)
  }

  const replace = (message: Message) => {
    found.value = found.value?.map((each) => (each.id === message.id ? message : each))
  }

  useHighlights(page, textOfWords(parseQuery(query).words))

  const isUnknown = hasUnknownOperator(query)
  const people = failure.value instanceof SeveralPeople ? failure.value : undefined
  const places = failure.value instanceof SeveralPlaces ? failure.value : undefined
  const several = people ?? places
  const isBusy = found.value === undefined && failure.value === null && query !== ''
  return (
    <div class="page" ref={page}>
      <SearchFilters query={query} />
      {failure.value !== null && !several && (
        <p class="alert" role="alert">
          {textOf(failure.value)}
        </p>
      )}
      <section aria-label={t('Search results')} aria-busy={isBusy}>
        <div role="status">
          {several && <h2>{several.message}</h2>}
          {found.value?.length === 0 ? (
            <Empty
              icon="search"
              title={t('Nothing was found')}
              hint={isUnknown ? t('A search has these operators:') : t('Try other words, or fewer filters.')}
            >
              {isUnknown && (
                <p>
                  <code dir="ltr">{exampleOfOperators}</code>
                </p>
              )}
            </Empty>
          ) : (
            <span class="visually-hidden">
              {found.value && t('Shown results: {count}', { count: found.value.length })}
            </span>
          )}
        </div>
        {people && <ChooseAuthor workspace={workspace} query={query} people={people.people} />}
        {places && <ChoosePlace query={query} places={places.places} />}
        {found.value?.map((message) => (
          <FoundMessage key={message.id} workspace={workspace} message={message} onChanged={replace} />
        ))}
      </section>
      {hasMore.value && <ShowMore onMore={showMore} />}
    </div>
  )
}

/** The words and the filters of the search. Each filter can be removed. */
export function Chips({ query }: { query: string }) {
  const { words, filters } = parseQuery(query)
  const without = (operator: Operator) => {
    const { [operator]: _, ...rest } = filters
    return searchAddress(formatQuery({ words, filters: rest }))
  }
  return (
    <span class="topic chips">
      <bdi>{words}</bdi>
      {operators
        .filter((operator) => filters[operator])
        .map((operator) => (
          <span key={operator} class="chip">
            <bdi>
              {operator}:{filters[operator]}
            </bdi>
            <IconButton
              icon="close"
              name={t('Remove {name}', { name: `${operator}:${filters[operator]}` })}
              onClick={() => navigate(without(operator))}
            />
          </span>
        ))}
    </span>
  )
}
