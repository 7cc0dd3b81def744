import { effect } from '@preact/signals'
import { address } from '../app/address.ts'
import { isNarrow } from '../app/attention.ts'

/** The dialogs that are open, and the buttons of an open menu and of the open navigation of a narrow page. */
const layers = 'dialog[open], [aria-haspopup][aria-expanded=true], .only-narrow [aria-expanded=true]'
const isTouched = matchMedia('(pointer: coarse)')

/**
 * "Back" closes what is open above the view, as people expect it on a phone. For each layer the browser's history has one more entry with
 * the same address. Its `state.layers` is the number of layers. When a layer closes by other means, its entry stays: the next layer uses it,
 * `navigate` replaces it, and "Back" skips it. Nothing waits for the browser to go back, so there is no moment in which another address gets lost.
 */
export function closeByBack(): () => void {
  let entry = currentEntry()

  const add = () => {
    const { length } = openLayers()
    if (length <= entry.layers || !(isNarrow.value || isTouched.matches)) return
    history.pushState({ ...history.state, layers: length }, '')
    entry = currentEntry()
  }
  const onPopState = () => {
    const before = entry
    entry = currentEntry()
    if (entry.href !== before.href || entry.layers >= before.layers) return
    const open = openLayers()
    if (open.length > entry.layers) close(open.at(-1)!)
    else history.back()
  }

  const opening = new MutationObserver(add)
  opening.observe(document, { subtree: true, attributeFilter: ['open', 'aria-expanded'] })
  addEventListener('popstate', onPopState)
  const endEffect = effect(() => {
    void address.value
    entry = currentEntry()
  })
  add()
  return () => {
    opening.disconnect()
    removeEventListener('popstate', onPopState)
    endEffect()
  }
}

const currentEntry = () => ({ href: location.href, layers: Number(history.state?.layers ?? 0) })

const openLayers = () =>
  [...document.querySelectorAll<HTMLElement>(layers)].filter((element) => element.checkVisibility())

function close(layer: HTMLElement) {
  if (layer instanceof HTMLDialogElement) return layer.close()
  layer.focus()
  layer.click()
}
