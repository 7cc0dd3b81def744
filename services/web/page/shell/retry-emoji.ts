import { effect } from '@preact/signals'
import type { Workspace } from '../app/workspace.ts'
import { retryEmoji } from '../emoji/emoji.ts'

/** After an outage, loads the list of emoji at once if it could not be loaded. Returns a function that ends this. */
export const retryEmojiAfterOutage = ({ connection }: Workspace) =>
  effect(() => {
    if (connection.value === 'live') retryEmoji()
  })
