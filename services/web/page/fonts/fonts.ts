import { whenIdle } from '../ui/idle.ts'

const checkAgainMs = 100

const load = () => import('./faces.ts')

/**
 * Loads the page's own fonts. The first view does not wait for them: it uses fonts of the system that are scaled to about the same widths
 * (`styles/fonts.css`). From the second start on, the service worker has the part that most texts need, so it is used immediately.
 * Returns a function that must be called just before the first render. The fonts are added only then: otherwise the browser would lay out
 * a snapshot once more, a moment before the page replaces it.
 */
export function startFonts(): () => void {
  if (!navigator.serviceWorker?.controller) {
    whenFirstViewIsPainted(() => load().then(({ exchangeFaces }) => exchangeFaces(), ignore))
    return () => {}
  }
  let isRendering = false
  let add: (() => void) | undefined
  load().then(({ loadLatin, addFaces }) => {
    void loadLatin()
    if (isRendering) addFaces()
    else add = addFaces
  }, ignore)
  return () => {
    isRendering = true
    add?.()
  }
}

/** Keeps the fonts of the system when the network is down, or when a newer build has replaced this chunk. */
const ignore = () => {}

/** Calls `call` when the first view, such as the messages of a channel or the sign-in form, is loaded and painted. */
function whenFirstViewIsPainted(call: () => void) {
  const isLoaded = document.querySelector('main') !== null && document.querySelector('[aria-busy=true]') === null
  if (!isLoaded) return void setTimeout(() => whenFirstViewIsPainted(call), checkAgainMs)
  // The first callback runs before the frame that shows the view, and the second one after it.
  requestAnimationFrame(() => requestAnimationFrame(() => whenIdle(call)))
}
