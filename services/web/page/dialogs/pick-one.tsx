import { useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import { Dialog } from '../ui/dialog.tsx'

export interface Choice {
  id: string
  name: string
  hint: string
}

interface PickOneProps {
  /** Of the dialog. */
  name: string
  label: string
  choices: readonly Choice[]
  onChoose: (choice: Choice) => void
  onClose: () => void
}

const mostShown = 12

/** A dialog with a combobox: arrows move, Enter or a click chooses. */
export function PickOne({ name, label, choices, onChoose, onClose }: PickOneProps) {
  const query = useSignal('')
  const chosen = useSignal(0)
  const listId = useId()
  const wanted = query.value.trim().toLowerCase().replace(/^[@#]/, '')
  const found = choices
    .filter((choice) => `${choice.name} ${choice.hint}`.toLowerCase().includes(wanted))
    .slice(0, mostShown)

  function onKeyDown(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && found.length > 0) {
      event.preventDefault()
      chosen.value = (chosen.value + step + found.length) % found.length
    }
    const choice = found[chosen.value]
    if (event.key === 'Enter' && choice) {
      event.preventDefault()
      onChoose(choice)
    }
  }

  return (
    <Dialog name={name} onClose={onClose}>
      <input
        class="input"
        role="combobox"
        aria-label={label}
        placeholder={label}
        aria-autocomplete="list"
        aria-expanded={found.length > 0}
        aria-controls={listId}
        aria-activedescendant={found.length > 0 ? `${listId}-${chosen.value}` : undefined}
        autoFocus
        autoComplete="off"
        onKeyDown={onKeyDown}
        onInput={(event) => {
          query.value = event.currentTarget.value
          chosen.value = 0
        }}
      />
      <div class="rows" role="listbox" id={listId} aria-label={label}>
        {found.map((choice, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox has the keys
          <div
            key={choice.id}
            id={`${listId}-${index}`}
            class="option"
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen.value}
            onClick={() => onChoose(choice)}
          >
            <span dir="auto">{choice.name}</span>
            <span class="quiet">{choice.hint}</span>
          </div>
        ))}
      </div>
    </Dialog>
  )
}
