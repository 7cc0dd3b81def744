import { effect } from '@preact/signals'
import { openPlaceId } from '../app/address.ts'
import { lastPlaceKey } from '../app/last-place.ts'
import type { Workspace } from '../app/workspace.ts'

/** Stores which channel or conversation is open, for the next start. `forgetStored` removes it. Returns a function that ends it. */
export const rememberPlace = (workspace: Workspace): (() => void) =>
  effect(() => {
    const { value: id } = openPlaceId
    if (id === undefined) return
    try {
      localStorage.setItem(lastPlaceKey(workspace), id)
    } catch {
      // The storage is full. The next start opens another channel.
    }
  })
