import { signal } from '@preact/signals'

/** The person whose card is open. The name is that of a message, which stays when the person is removed from the server. */
export const shownPerson = signal<{ id: string; userName: string } | null>(null)
