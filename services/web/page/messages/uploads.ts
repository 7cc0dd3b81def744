import type { Client } from '@parley/client'
import { type Signal, signal } from '@preact/signals'
import { textOf } from '../app/problems.ts'

/** A file that was chosen for a message. Its bytes travel at once; the message can be sent when they have arrived. */
export interface ChosenFile {
  id: string
  file: File
  state: Signal<{ sent: number } | { filename: string } | { failure: string }>
  abort: () => void
}

/** Begins to upload a file. */
export function upload(client: Client, file: File): ChosenFile {
  const leaving = new AbortController()
  const state: ChosenFile['state'] = signal({ sent: 0 })
  client
    .request('POST /files/binary', {
      query: { filename: file.name },
      body: file,
      signal: leaving.signal,
      onProgress: ({ sentBytes, totalBytes }) => {
        state.value = { sent: sentBytes / Math.max(1, totalBytes) }
      },
    })
    .then(
      ({ attachment }) => {
        state.value = { filename: attachment.filename }
      },
      (error) => {
        if (!leaving.signal.aborted) state.value = { failure: textOf(error) }
      },
    )
  return { id: crypto.randomUUID(), file, state, abort: () => leaving.abort() }
}

export const uploadedName = ({ state }: ChosenFile) => ('filename' in state.value ? state.value.filename : undefined)
