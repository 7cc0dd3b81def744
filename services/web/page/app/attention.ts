import { signal } from '@preact/signals'

const isAttentive = () => document.visibilityState === 'visible' && document.hasFocus()

/** Whether the person looks at this page: it is visible and has the focus. */
export const hasAttention = signal(isAttentive())
/** Whether the page is so narrow that the open navigation covers the channel. The styles have the same widths. */
export const isNarrow = matching('(max-width: 47.9375em)')
/** Whether an open thread covers the channel, because there is no space for both. */
export const isThreadAlone = matching('(max-width: 59.9375em)')
/** Whether the browser reports a network connection. */
export const isOnline = signal(navigator.onLine)

const update = () => {
  hasAttention.value = isAttentive()
}
for (const change of ['focus', 'blur', 'pageshow', 'pagehide']) addEventListener(change, update)
document.addEventListener('visibilitychange', update)
addEventListener('online', () => {
  isOnline.value = true
})
addEventListener('offline', () => {
  isOnline.value = false
})

function matching(query: string) {
  const list = matchMedia(query)
  const result = signal(list.matches)
  list.addEventListener('change', () => {
    result.value = list.matches
  })
  return result
}
