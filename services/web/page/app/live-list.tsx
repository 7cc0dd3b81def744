import type { WireEvent } from '@parley/contract'
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { attempt, textOf } from '../ui/problems.ts'
import { ignoreFailure } from '../ui/retries.ts'
import { ShowMore } from '../ui/show-more.tsx'
import type { Workspace } from './workspace.ts'

const pageSize = 25
/** The server returns at most so many items at once. */
const maxFetched = 200
/** The pause in which several events lead to one request. */
const pauseMs = 300

/** A list of the server that has pages. */
export interface ListSource<Item> {
  fetchPage: (query: { limit: number; before?: string }) => Promise<{ items: readonly Item[]; hasMore: boolean }>
  /** The id of an item, which is the cursor of the page after it. */
  idOf: (item: Item) => string
  /** Whether an event changes the list, or one of the shown items. */
  concerns: (event: WireEvent, items: readonly Item[]) => boolean
}

/**
 * The first items of a list. Events that concern it lead to a request for all of them. `items` are undefined until the first response, and
 * again when `filter` changes. The list stays when a later request fails, and is fetched again after the next event or connection.
 */
export function useLiveList<Item>(workspace: Workspace, source: ListSource<Item>, filter?: unknown) {
  const page = useSignal<{ items: readonly Item[]; hasMore: boolean } | undefined>(undefined)
  const failure = useSignal<string | null>(null)
  const refreshes = useSignal(0)
  const wanted = useRef(pageSize)
  const fetches = useRef(0)
  const isLive = workspace.connection.value === 'live'
  // With another role the person may read other channels, and there are no events about them.
  const { role } = workspace.me.value

  async function fetchWanted() {
    const number = ++fetches.current
    const items = new Map<string, Item>()
    let hasMore = true
    while (hasMore && items.size < wanted.current) {
      const { size } = items
      const before = [...items.keys()].at(-1)
      const limit = Math.min(maxFetched, wanted.current - size)
      const next = await source.fetchPage({ limit, ...(before !== undefined && { before }) })
      // A later fetch has begun, and it gets at least as many items.
      if (number !== fetches.current) return
      for (const item of next.items) items.set(source.idOf(item), item)
      hasMore = next.hasMore
      // The last item is the first one now. The event that says so leads to another fetch.
      if (items.size === size) break
    }
    failure.value = null
    page.value = { items: [...items.values()], hasMore }
  }

  useEffect(() => {
    page.value = undefined
    wanted.current = pageSize
  }, [filter, role])
  useEffect(() => {
    let isCurrent = true
    fetchWanted().catch((error) => {
      if (isCurrent && page.value === undefined) failure.value = textOf(error)
      else ignoreFailure(error)
    })
    return () => {
      isCurrent = false
      fetches.current++
    }
  }, [filter, isLive, refreshes.value, role])

  const refresh = () => {
    refreshes.value++
  }
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const end = workspace.listen((event) => {
      if (!source.concerns(event, page.value?.items ?? [])) return
      timer ??= setTimeout(() => {
        timer = undefined
        refresh()
      }, pauseMs)
    })
    return () => {
      end()
      clearTimeout(timer)
    }
  }, [])

  async function showMore() {
    wanted.current = page.value!.items.length + pageSize
    await attempt(fetchWanted())
  }

  return {
    items: page.value?.items,
    hasMore: page.value?.hasMore === true,
    failure: failure.value,
    isBusy: page.value === undefined && failure.value === null,
    refresh,
    showMore,
  }
}

interface LiveListProps {
  name: string
  list: ReturnType<typeof useLiveList>
  /** Shown instead of an empty list. */
  empty: ComponentChildren
  /** The items. */
  children: ComponentChildren
}

/** A list of `useLiveList` with its failure and the button for further items. */
export const LiveList = ({ name, list, empty, children }: LiveListProps) => (
  <>
    {list.failure !== null && (
      <p class="alert" role="alert">
        {list.failure}
      </p>
    )}
    <section aria-label={name} aria-busy={list.isBusy}>
      {list.items?.length === 0 && empty}
      {children}
    </section>
    {list.hasMore && <ShowMore onMore={list.showMore} />}
  </>
)
