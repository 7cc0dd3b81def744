import { useState } from 'preact/hooks'

let last = 0

/** An id that no other element has. */
export const nextId = () => `id-${++last}`

/** The id of a component. `useId` of Preact repeats its ids in a second tree, and the menu of the sidebar is one. */
export const useUniqueId = () => useState(nextId)[0]
