import { signal } from '@preact/signals'

/** The last text that screen readers were told. The number is different for each announcement. */
export const announced = signal({ number: 0, text: '' })

/** Tells screen readers a text, when they have read the previous one. */
export function announce(text: string) {
  announced.value = { number: announced.value.number + 1, text }
}
