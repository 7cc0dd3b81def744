import { signal } from '@preact/signals'

const isWatched = () => document.visibilityState === 'visible' && document.hasFocus()

/** Whether somebody looks at this page: it is visible and has the focus. */
export const isLookedAt = signal(isWatched())
/** Whether the browser has a network. */
export const isOnline = signal(navigator.onLine)

const look = () => {
  isLookedAt.value = isWatched()
}
for (const change of ['focus', 'blur', 'pageshow', 'pagehide']) addEventListener(change, look)
document.addEventListener('visibilitychange', look)
addEventListener('online', () => {
  isOnline.value = true
})
addEventListener('offline', () => {
  isOnline.value = false
})
