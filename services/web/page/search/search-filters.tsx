import { useSignal } from '@preact/signals'
import { navigate, searchAddress } from '../app/address.ts'
import { t } from '../texts/texts.ts'
import { useUniqueId } from '../ui/unique-id.ts'
import { formatQuery, type Operator, parseQuery } from './search-query.ts'

/**
 * A form for the operators of a search, for people who do not know how to type them. On a narrow page its fields are shown when a button is
 * pressed, because the results need the space.
 */
export function SearchFilters({ query }: { query: string }) {
  const { words, filters } = parseQuery(query)
  const isOpen = useSignal(false)
  const fields: [name: Operator, label: string, type: 'text' | 'date', placeholder?: string][] = [
    ['from', t('From'), 'text', t('Name, or me')],
    ['in', t('In'), 'text', t('Channel or person')],
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
        isOpen.value = false
        const changed = Object.fromEntries(
          [...new FormData(event.currentTarget)].map(([key, value]) => [key, `${value}`]),
        )
        const next = { ...filters, ...changed }
        navigate(searchAddress(formatQuery({ words, filters: next })))
      }}
    >
      <button
        type="button"
        class="button"
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value
        }}
      >
        {t('Filters')}
      </button>
      {fields.map(([operator, label, type, placeholder]) => (
        <FilterField
          key={operator}
          name={operator}
          label={label}
          type={type}
          placeholder={placeholder}
          value={filters[operator] ?? ''}
        />
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
  placeholder: string | undefined
  value: string
}

function FilterField({ name, label, type, placeholder, value }: FilterFieldProps) {
  const id = useUniqueId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} class="input" name={name} type={type as 'text'} placeholder={placeholder} defaultValue={value} />
    </div>
  )
}
