import { type Client, type ResponseOf, requestForPlace } from '@parley/client'
import type { EphemeralMessage } from '@parley/contract'
import { signal } from '@preact/signals'
import { serverText } from '../texts/texts.ts'

export type Command = ResponseOf<'GET /commands'>['commands'][number]

/** The list of commands is fetched again after this time. */
const cachedForMs = 60_000

/** The commands that people may type, and the ephemeral messages, which only this person sees. A reload of the page forgets them. */
export function createCommands(client: Client) {
  const commands = signal<readonly Command[]>([])
  const ephemeral = signal<readonly EphemeralMessage[]>([])
  let fetchedAt = -Infinity

  /**
   * The newest received `updatedAt` of each message, by id. A replacement of a message comes twice, as an event and in a response, and a
   * newer replacement may come between the two.
   */
  const changedAt = new Map<string, number>()
  /** The messages that the person has dismissed: the `updatedAt` of that version, by id. Its response may come later. */
  const dismissedAt = new Map<string, EphemeralMessage['updatedAt']>()

  function receive(message: EphemeralMessage) {
    const { id, updatedAt } = message
    if (dismissedAt.has(id) && dismissedAt.get(id) === updatedAt) return
    const isKnown = ephemeral.value.some((each) => each.id === id)
    // A server of the previous version does not send `updatedAt`.
    if (updatedAt == null) {
      if (!isKnown && !changedAt.has(id)) ephemeral.value = [...ephemeral.value, message]
      return
    }
    if (updatedAt < (changedAt.get(id) ?? 0)) return
    changedAt.set(id, updatedAt)
    if (isRemoval(message)) remove(id)
    else if (isKnown) ephemeral.value = ephemeral.value.map((each) => (each.id === id ? message : each))
    else ephemeral.value = [...ephemeral.value, message]
  }

  function remove(id: string) {
    ephemeral.value = ephemeral.value.filter((message) => message.id !== id)
  }

  /** Shows the ephemeral message of a response, and returns the response. The message comes as an event too, unless the stream is lost. */
  async function showResponse<Response extends { ephemeral: EphemeralMessage | null }>(request: Promise<Response>) {
    const response = await request
    if (response.ephemeral) receive(response.ephemeral)
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
    receive,
    /** The ephemeral messages of a channel or conversation that the person has not dismissed. */
    ephemeralIn: (channelId: string) => ephemeral.value.filter((message) => message.channelId === channelId),
    dismiss({ id, updatedAt }: EphemeralMessage) {
      dismissedAt.set(id, updatedAt)
      remove(id)
    },
  }
}

/** Whether the app removes its earlier message by replacing it with an empty one. */
export const isRemoval = ({ content, blocks }: EphemeralMessage) => content === '' && blocks.length === 0

/** The text of a message. The answers of the server's own commands are in the language of the page. */
export const textOfMessage = ({ author, content }: Pick<EphemeralMessage, 'author' | 'content'>) =>
  author.id === 'server' ? serverText(content) : content
