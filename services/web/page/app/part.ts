import { signal } from '@preact/signals'

/** What is loaded when it is first shown: a component, or what stands instead of it until then. */
export type Part<T> = T | 'loading' | 'failed'

/**
 * A part of the page that is not in the first view. The first read begins to load it, and the component that read it
 * renders again when it is there. Loading fails without a network, and when the server has a newer build: then a reload
 * helps.
 */
export function createPart<T extends object>(load: () => Promise<T>): () => Part<T> {
  const part = signal<Part<T>>('loading')
  let isAsked = false
  return () => {
    if (!isAsked) {
      isAsked = true
      load().then(
        (loaded) => {
          part.value = loaded
        },
        () => {
          part.value = 'failed'
        },
      )
    }
    return part.value
  }
}
