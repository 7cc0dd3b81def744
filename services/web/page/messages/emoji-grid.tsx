import { nameOfEmoji, withTone } from '../emoji/emoji.ts'
import type { Emoji } from '../emoji/emoji-list.ts'
import type { Tone } from '../emoji/tones.ts'

interface EmojiGridProps {
  found: readonly Emoji[]
  tone: Tone
  onChoose: (one: Emoji) => void
  onPoint: (one: Emoji) => void
}

export const EmojiGrid = ({ found, tone, onChoose, onPoint }: EmojiGridProps) => (
  <div class="emoji-grid">
    {found.map((one) => (
      <button
        key={one.emoji}
        type="button"
        title={`:${one.shortNames[0]}:`}
        aria-label={nameOfEmoji(one.shortNames[0]!)}
        onClick={() => onChoose(one)}
        onFocus={() => onPoint(one)}
        onPointerEnter={() => onPoint(one)}
      >
        {withTone(one, tone)}
      </button>
    ))}
  </div>
)

/** The arrow keys move in the grid. ArrowUp in the first row moves to the search field. */
export function moveByKey(event: KeyboardEvent & { currentTarget: HTMLElement }) {
  const all = [...event.currentTarget.querySelectorAll('button')]
  const at = all.indexOf(document.activeElement as HTMLButtonElement)
  if (at === -1) return
  const forwards = document.documentElement.dir === 'rtl' ? 'ArrowLeft' : 'ArrowRight'
  const next = () => {
    switch (event.key) {
      case 'ArrowLeft':
      case 'ArrowRight':
        return all[at + (event.key === forwards ? 1 : -1)]
      case 'ArrowDown':
      case 'ArrowUp':
        return inNextRow(all, at, event.key === 'ArrowDown' ? 1 : -1)
      case 'Home':
        return all[0]
      case 'End':
        return all.at(-1)
      default:
        return null
    }
  }
  const to = next()
  if (to === null) return
  event.preventDefault()
  if (to) to.focus()
  else if (event.key === 'ArrowUp') {
    event.currentTarget.parentElement!.querySelector<HTMLInputElement>('input[type=search]')!.focus()
  }
}

/** The nearest emoji in the row above or below. */
function inNextRow(all: readonly HTMLElement[], at: number, step: 1 | -1): HTMLElement | undefined {
  const { offsetTop: top, offsetLeft: left } = all[at]!
  let best: HTMLElement | undefined
  for (let index = at + step; all[index]; index += step) {
    const one = all[index]!
    if (one.offsetTop === top) continue
    if (best && one.offsetTop !== best.offsetTop) break
    if (!best || Math.abs(one.offsetLeft - left) < Math.abs(best.offsetLeft - left)) best = one
  }
  return best
}
