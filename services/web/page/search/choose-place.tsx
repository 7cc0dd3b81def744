import { isConversationId } from '@parley/client'
import { searchAddress } from '../app/address.ts'
import { t } from '../texts/texts.ts'
import type { NamedPlace } from './find-place.ts'
import { formatQuery, parseQuery } from './search-query.ts'

/** With more, a longer part of the name is needed. */
const maxShown = 20

interface ChoosePlaceProps {
  query: string
  places: readonly NamedPlace[]
}

/** Links to the same search in one of these channels and conversations. */
export function ChoosePlace({ query, places }: ChoosePlaceProps) {
  const { words, filters } = parseQuery(query)
  return (
    <>
      <ul class="rows">
        {places.slice(0, maxShown).map(({ id, name }) => (
          <li key={id} class="member-row">
            <a class="name" dir="auto" href={searchAddress(formatQuery({ words, filters: { ...filters, in: name } }))}>
              {isConversationId(id) ? name : `#${name}`}
            </a>
          </li>
        ))}
      </ul>
      {places.length > maxShown && <p>{t('There are more. Write more of the name.')}</p>}
    </>
  )
}
