import { randomUUID } from 'node:crypto'
import { requireAccess, wireChannelId } from '@parley/access'
import { ApiError, type Author, type EphemeralMessage } from '@parley/contract'
import { findCaller, writeAppPass } from '@parley/identity'
import type { Requester } from '@parley/requester'
import { type Deps, refuseNul } from '@parley/service'
import { InvalidBlocks } from '@parley/slack'
import type { CallService } from '../call-services.ts'
import { readContent, type SlackContent, textsOf } from '../slack-objects/slack-content.ts'
import { findNamesIn } from '../slack-objects/slack-references.queries.ts'
import type { App } from './apps.queries.ts'
import type { AppAnswer, Interaction, RequestedInteraction } from './call-app.ts'
import { type Recipient, removeEphemeralMessage, sendEphemeralMessage } from './ephemeral-messages.ts'

type Payload = Record<string, unknown>

/** The author of messages from the server itself. */
const server: Author = { id: 'server', userName: 'Parley', isBot: true }

/** How long a pass is valid. It serves one request between services. */
const passMs = 60_000

/** An answer of an app that cannot be shown. The message completes a sentence such as "/deploy failed: …". */
export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer'
}

export type AppAnswers = ReturnType<typeof createAppAnswers>

/** The parts that the routes of apps share. */
export interface AppParts {
  deps: Deps
  call: CallService
  requester: Requester
  appAnswers: AppAnswers
}

/** Shows people the answers of apps and of the server. */
export function createAppAnswers(deps: Deps, call: CallService) {
  const { db, seals, clock } = deps

  /** Sends one person a message of the server. */
  const sendText = (to: Recipient, content: string) => sendEphemeralMessage(deps, { to, author: server }, { content })

  /**
   * Applies the answer of an app, or sends a message about its failure to the person who used the app. `name` names what
   * they used: a command or a button. Returns the message that only they get, if any.
   * @throws ApiError 401 or 403 when the person lost their session or their access to the channel while the app was answering.
   */
  async function showOutcome(
    interaction: RequestedInteraction,
    name: string,
    answer: AppAnswer,
  ): Promise<EphemeralMessage | null> {
    await requireAccess(db, await findCaller(db, interaction.caller, clock()), interaction.channel)
    const to = recipientOf(interaction)
    if (answer === 'nothing') return null
    if ('failure' in answer) return sendText(to, `${name} failed: ${answer.failure}.`)
    try {
      return await applyAnswer(interaction, answer.payload)
    } catch (error) {
      if (!(error instanceof UnusableAnswer)) throw error
      return sendText(to, `${name} failed: ${error.message}.`)
    }
  }

  /**
   * Carries out a payload in Slack's format: posts a message of the bot, changes or deletes the message with the
   * button, or sends an ephemeral message to the person who used the app. Returns the message that only they get, if
   * any.
   * @throws UnusableAnswer when the payload cannot be read.
   */
  async function applyAnswer(interaction: Interaction, payload: Payload): Promise<EphemeralMessage | null> {
    const { messageId, original } = interaction
    const envelope = { to: recipientOf(interaction), author: authorOf(interaction.app) }
    if (isTrue(payload.delete_original)) {
      if (original) return removeEphemeralMessage(deps, { ...envelope, original })
      if (messageId !== undefined) return changeAsBot(interaction, 'DELETE', { messageId })
    }
    const content = await read(payload)
    if (!content) return null
    if (isTrue(payload.replace_original)) {
      if (original) return sendEphemeralMessage(deps, { ...envelope, original }, content)
      if (messageId !== undefined) return changeAsBot(interaction, 'PUT', { messageId, content })
    }
    if (payload.response_type === 'in_channel') return changeAsBot(interaction, 'POST', { content })
    return sendEphemeralMessage(deps, envelope, content)
  }

  async function read(payload: Payload): Promise<SlackContent | undefined> {
    const texts = refusingUnreadable(() => {
      refuseNul(payload)
      return textsOf(payload)
    })
    const names = await findNamesIn(db, texts)
    return refusingUnreadable(() => readContent(payload, names))
  }

  /** Posts, changes or deletes a message of the bot. Returns null, because everybody in the channel gets the message. */
  async function changeAsBot(
    { app, channel, requestId }: Interaction,
    method: 'POST' | 'PUT' | 'DELETE',
    { messageId, content }: { messageId?: string; content?: SlackContent },
  ): Promise<null> {
    const { botId } = app
    const messages = `/apps/${botId}/messages`
    const { status, body } = await call({
      service: 'messaging',
      method,
      path: messageId === undefined ? messages : `${messages}/${messageId}`,
      token: writeAppPass(seals, { botId, channelId: channel.id, expiresAt: clock() + passMs }),
      body: content,
      ...(method === 'POST' && { idempotencyKey: randomUUID() }),
      requestId,
    })
    if (status >= 500) throw new UnusableAnswer('this server cannot store its answer right now')
    if (status !== 200) throw new UnusableAnswer(body.error)
    return null
  }

  return { sendText, applyAnswer, showOutcome }
}

/** Turns any error of `read` into an UnusableAnswer. Another program's payload may, for example, be nested too deep for the stack. */
function refusingUnreadable<Value>(read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    const isExplained = error instanceof InvalidBlocks || error instanceof ApiError
    throw new UnusableAnswer(isExplained ? `its answer cannot be shown: ${error.message}` : 'its answer is not valid')
  }
}

/** The person who used the app. */
const recipientOf = ({ caller, channel }: Interaction): Recipient => ({
  userId: caller.userId,
  channelId: wireChannelId(channel),
})

const isTrue = (value: unknown) => value === true || value === 'true'

/** A bot as the author of a message. */
const authorOf = ({ botId, userName }: Pick<App, 'botId' | 'userName'>): Author => ({
  id: botId,
  userName,
  isBot: true,
})
