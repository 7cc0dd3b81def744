import { type Client, type ResponseOf, requestForPlace } from '@parley/client'
import type { EphemeralMessage } from '@parley/contract'
import { signal } from '@preact/signals'

export type Command = ResponseOf<'GET /commands'>['commands'][number]

/** The list of commands is fetched again after this time. */
const cachedForMs = 60_000

/** The commands that people may type, and the clicks on buttons of messages. `onEphemeral` is called with the ephemeral messages of responses. */
export function createCommands(client: Client, onEphemeral: (message: EphemeralMessage) => void) {
  const commands = signal<readonly Command[]>([])
  let fetchedAt = -Infinity

  /** Shows the ephemeral message of a response, and returns the response. The message comes as an event too, unless the stream is lost. */
  async function showResponse<Response extends { ephemeral: EphemeralMessage | null }>(request: Promise<Response>) {
    const response = await request
    if (response.ephemeral) onEphemeral(response.ephemeral)
    return response
  }

  return {
    all: () => commands.value,
    async load() {
      if (performance.now() - fetchedAt < cachedForMs) return
      commands.value = (await client.request('GET /commands')).commands
      fetchedAt = performance.now()
    },
    /** Runs a command. @throws RequestFailed */
    run: (channelId: string, text: string) =>
      showResponse(requestForPlace(client, 'POST /channels/:channelId/commands', channelId, { body: { text } })),
    /** Clicks a button of a message, or with `clickToken` a button of an ephemeral message. @throws RequestFailed */
    click(messageId: string, button: { blockId?: string; actionId: string; value?: string; clickToken?: string }) {
      return showResponse(client.request('POST /messages/:messageId/actions', { params: { messageId }, body: button }))
    },
  }
}
