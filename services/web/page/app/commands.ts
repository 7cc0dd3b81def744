import type { Client, Reply } from '@parley/client'
import type { EphemeralMessage } from '@parley/contract'
import { signal } from '@preact/signals'

export type Command = Reply<'GET /commands'>['commands'][number]

const knownForMs = 60_000

/** The commands that people may type, and what they alone are told. None of it is stored: a reload forgets it. */
export function createCommands(client: Client) {
  const commands = signal<readonly Command[]>([])
  const ephemeral = signal<readonly EphemeralMessage[]>([])
  let knownAt = Number.NEGATIVE_INFINITY

  /**
   * By id, the newest `updatedAt` that was received. A replacement comes twice, as an event and in a reply, and a newer
   * one may come between the two.
   */
  const changedAt = new Map<string, number>()

  function hear(told: EphemeralMessage) {
    const { id, updatedAt } = told
    const isKnown = ephemeral.value.some((each) => each.id === id)
    // A server of the version before says nothing of it.
    if (updatedAt == null) {
      if (!isKnown && !changedAt.has(id)) ephemeral.value = [...ephemeral.value, told]
      return
    }
    if (updatedAt < (changedAt.get(id) ?? 0)) return
    changedAt.set(id, updatedAt)
    if (isTakenAway(told)) dismiss(id)
    else if (isKnown) ephemeral.value = ephemeral.value.map((each) => (each.id === id ? told : each))
    else ephemeral.value = [...ephemeral.value, told]
  }

  function dismiss(id: string) {
    ephemeral.value = ephemeral.value.filter((told) => told.id !== id)
  }

  /** What the person alone is told comes by an event too; on a lost connection only by the reply. */
  async function settle(running: Promise<{ ephemeral: EphemeralMessage | null }>) {
    const { ephemeral: message } = await running
    if (message) hear(message)
  }

  return {
    all: () => commands.value,
    async load() {
      if (performance.now() - knownAt < knownForMs) return
      commands.value = (await client.request('GET /commands')).commands
      knownAt = performance.now()
    },
    /** Types a command. @throws RequestFailed */
    run(channelId: string, text: string) {
      const body = { text }
      return settle(
        channelId.startsWith('dm:')
          ? client.request('POST /conversations/:conversationId/commands', {
              params: { conversationId: channelId },
              body,
            })
          : client.request('POST /channels/:channelId/commands', { params: { channelId }, body }),
      )
    },
    /** Clicks a button of a message, or with `clickToken` of what the person alone was told. @throws RequestFailed */
    click(messageId: string, button: { blockId?: string; actionId: string; value?: string; clickToken?: string }) {
      return settle(client.request('POST /messages/:messageId/actions', { params: { messageId }, body: button }))
    },
    hear,
    /** What the person alone was told in a channel or conversation, and has not dismissed. */
    ephemeralIn: (channelId: string) => ephemeral.value.filter((told) => told.channelId === channelId),
    dismiss,
  }
}

/** The app wants nothing to be shown any more. */
export const isTakenAway = ({ content, blocks }: EphemeralMessage) => content === '' && blocks.length === 0
