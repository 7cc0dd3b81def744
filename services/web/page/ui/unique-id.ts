import { useState } from 'preact/hooks'

let last = 0

/** An id that no other element has. `useId` of Preact repeats its ids in a second tree, and the menu of the sidebar is one. */
export const useUniqueId = () => useState(() => `id-${++last}`)[0]
