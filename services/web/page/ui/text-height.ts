import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

const isFittedByBrowser = CSS.supports('field-sizing', 'content')

/**
 * Gives a text box the height of its text, in browsers that do not know `field-sizing`: Firefox before 152 and Safari before 26.2. Call the
 * returned function when the text has changed.
 */
export function useTextHeight(box: RefObject<HTMLTextAreaElement | null>): () => void {
  const fit = () => {
    const { current } = box
    if (isFittedByBrowser || !current) return
    current.style.blockSize = 'auto'
    current.style.blockSize = `${current.scrollHeight}px`
  }
  useLayoutEffect(fit)
  return fit
}
