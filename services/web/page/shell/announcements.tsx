import { useEffect } from 'preact/hooks'
import { announce, announced } from '../ui/announced.ts'

/** The live region of everything that screen readers announce. */
export function Announcements() {
  // The next person must not find the last text.
  useEffect(() => () => announce(''), [])
  return (
    <div class="visually-hidden" aria-live="polite">
      {/* A new key creates a new element, so that the same text is announced a second time. */}
      <p key={announced.value.number}>{announced.value.text}</p>
    </div>
  )
}
