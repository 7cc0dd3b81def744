import { whenIdle } from '../ui/idle.ts'

const lookAgainMs = 100

/**
 * Calls back once the page shows what was asked for, such as the messages of a channel or the form to sign in, and the browser has drawn
 * it. What is not needed before that waits for this.
 */
export function whenFirstViewIsDrawn(call: () => void) {
  const isDrawn = document.querySelector('main') !== null && document.querySelector('[aria-busy=true]') === null
  if (!isDrawn) return void setTimeout(() => whenFirstViewIsDrawn(call), lookAgainMs)
  // The first callback comes before the frame that shows it, the second one after it.
  requestAnimationFrame(() => requestAnimationFrame(() => whenIdle(call)))
}
