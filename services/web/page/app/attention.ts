import { signal } from '@preact/signals'

const narrow = matchMedia('(max-width: 47.9375em)')
const isAttentive = () => document.visibilityState === 'visible' && document.hasFocus()

/** Whether the person looks at this page: it is visible and has the focus. */
export const hasAttention = signal(isAttentive())
/** Whether the page is so narrow that an open thread and the open navigation cover the channel. The styles have the same width. */
export const isNarrow = signal(narrow.matches)
/** Whether the browser reports a network connection. */
export const isOnline = signal(navigator.onLine)

const update = () => {
  hasAttention.value = isAttentive()
}
for (const change of ['focus', 'blur', 'pageshow', 'pagehide']) addEventListener(change, update)
document.addEventListener('visibilitychange', update)
narrow.addEventListener('change', () => {
  isNarrow.value = narrow.matches
})
addEventListener('online', () => {
  isOnline.value = true
})
addEventListener('offline', () => {
  isOnline.value = false
})
