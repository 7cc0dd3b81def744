import { signal } from '@preact/signals'

/** A lazily loaded part of the page, such as a component, or its state until it is loaded. */
export type Part<T> = T | 'loading' | 'failed'

/** For each part that could not be loaded: a function after which the next read loads it again. */
const failures = new Set<() => void>()

/** Call it when the message about a failure is not shown any more. */
export function forgetFailures() {
  for (const forget of failures) forget()
  failures.clear()
}

/**
 * Loads a part of the page that the first view does not need. The first read begins to load it, and the component that read it
 * renders again when it is loaded. Loading fails without a network, and when the server has a newer build of the page. Then a reload
 * of the page helps.
 */
export function createPart<T extends object>(load: () => Promise<T>): () => Part<T> {
  const part = signal<Part<T>>('loading')
  let hasBegun = false
  return () => {
    if (!hasBegun) {
      hasBegun = true
      load().then(
        (loaded) => {
          part.value = loaded
        },
        () => {
          part.value = 'failed'
          failures.add(() => {
            hasBegun = false
            part.value = 'loading'
          })
        },
      )
    }
    return part.value
  }
}
