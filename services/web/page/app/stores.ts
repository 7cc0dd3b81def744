import { storeInIndexedDb } from '@parley/client'

/** The name of what the tabs of a person share in this browser: the store and the stream. */
export const nameOf = (userId: string) => `${location.origin} ${userId}`

/** The store of a person in this browser. */
export const storeOf = (userId: string) => storeInIndexedDb(nameOf(userId), localStorage)
