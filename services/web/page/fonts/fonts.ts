import { whenFirstViewIsDrawn } from './first-view.ts'

const load = () => import('./faces.ts')

/**
 * Lets the page use its own fonts. They are no part of a first view, which would have to wait for them: it is drawn in fonts of the system
 * that are scaled to about the same widths (`styles/fonts.css`). From the second start on the service worker has what most texts need, and
 * it is used at once.
 */
export function startFonts() {
  if (navigator.serviceWorker?.controller) load().then(({ addFaces }) => addFaces(), ignore)
  else whenFirstViewIsDrawn(() => load().then(({ exchangeFaces }) => exchangeFaces(), ignore))
}

/** Without a network, and without a part that a newer build has replaced, the fonts of the system stay. */
const ignore = () => {}
