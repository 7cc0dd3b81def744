import { signal } from '@preact/signals'

/** A short confirmation of an action whose effect is not visible. */
export const notice = signal('')
const noticeMs = 4_000
let noticeTimer: ReturnType<typeof setTimeout> | undefined

export function showNotice(text: string) {
  clearTimeout(noticeTimer)
  notice.value = text
  noticeTimer = setTimeout(() => (notice.value = ''), noticeMs)
}
