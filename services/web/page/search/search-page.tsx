import { NotLoaded } from '../app/page.tsx'
import { createPart } from '../app/part.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'

const part = createPart(() => import('./search-results.tsx'))

/** The page of a search. Its heading is shown immediately, and its results when their part of the page is loaded. */
export function SearchPage({ workspace, query }: { workspace: Workspace; query: string }) {
  const loaded = part()
  const isLoaded = typeof loaded === 'object'
  return (
    <main class="main" aria-busy={loaded === 'loading'}>
      <header class="main-head">
        <h1>{t('Search results')}</h1>
        {isLoaded && <loaded.Chips query={query} />}
      </header>
      {isLoaded ? (
        <loaded.SearchResults workspace={workspace} query={query} />
      ) : (
        <div class="page">{loaded === 'failed' && <NotLoaded />}</div>
      )}
    </main>
  )
}
