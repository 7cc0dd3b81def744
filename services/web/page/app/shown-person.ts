import { signal } from '@preact/signals'

/** Whose card is open. */
export const shownPerson = signal<string | null>(null)
