import { signal } from '@preact/signals'

/** The id of the person whose card is open. */
export const shownPerson = signal<string | null>(null)
