import { useId } from 'preact/hooks'
import { navigate, searchAddress } from '../app/address.ts'
import { t } from '../texts/texts.ts'
import { formatQuery, type Operator, parseQuery } from './search-query.ts'

/** A form for the operators of a search, for people who do not know how to type them. */
export function SearchFilters({ query }: { query: string }) {
  const { words, filters } = parseQuery(query)
  const fields: [Operator, string, 'text' | 'date'][] = [
    ['from', t('From'), 'text'],
    ['in', t('In'), 'text'],
    ['after', t('After'), 'date'],
    ['before', t('Before'), 'date'],
  ]
  return (
    <form
      key={query}
      class="filters"
      aria-label={t('Filters')}
      onSubmit={(event) => {
        event.preventDefault()
        const changed = Object.fromEntries(
          [...new FormData(event.currentTarget)].map(([key, value]) => [key, `${value}`]),
        )
        const next = { ...filters, ...changed }
        navigate(searchAddress(formatQuery({ words, filters: next })))
      }}
    >
      {fields.map(([operator, label, type]) => (
        <FilterField key={operator} name={operator} label={label} type={type} value={filters[operator] ?? ''} />
      ))}
      <button type="submit" class="button">
        {t('Filter')}
      </button>
    </form>
  )
}

interface FilterFieldProps {
  name: Operator
  label: string
  type: 'text' | 'date'
  value: string
}

function FilterField({ name, label, type, value }: FilterFieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} class="input" name={name} type={type as 'text'} defaultValue={value} />
    </div>
  )
}
