import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { findEmoji, loadEmoji } from './emoji.ts'

interface EmojiPickerProps {
  onChoose: (emoji: string) => void
  onClose: () => void
}

const mostShown = 96

/** Emoji by their short names; Enter takes the first one. */
export function EmojiPicker({ onChoose, onClose }: EmojiPickerProps) {
  const query = useSignal('')
  useEffect(() => {
    void loadEmoji()
  }, [])
  const found = findEmoji(query.value, mostShown)
  const choose = (emoji: string) => {
    onChoose(emoji)
    onClose()
  }
  return (
    <Dialog name={t('React')} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (found[0]) choose(found[0].emoji)
        }}
      >
        <input
          class="input"
          type="search"
          aria-label={t('Search emoji')}
          placeholder={t('Search emoji')}
          autoFocus
          onInput={(event) => (query.value = event.currentTarget.value)}
        />
      </form>
      <div class="emoji-grid">
        {found.map(({ emoji, shortNames }) => (
          <button
            key={emoji}
            type="button"
            title={`:${shortNames[0]}:`}
            aria-label={shortNames[0]}
            onClick={() => choose(emoji)}
          >
            {emoji}
          </button>
        ))}
      </div>
    </Dialog>
  )
}
