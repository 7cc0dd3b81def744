import { findChannel } from '@parley/access'
import { lockCallerAsAdmin, type RequestContext, readName, recordWebhookOwnership } from '@parley/accounts'
import { audienceOf, invalid, type ListedWebhook, limits, notFound } from '@parley/contract'
import {
  audit,
  claimOf,
  type Database,
  once,
  type ResponseForm,
  record,
  type Transaction,
  uuidv7,
} from '@parley/database'
import { createWebhookToken, type Seals } from '@parley/identity'
import type { Deps } from '@parley/service'
import { findWebhook, insertWebhook, markWebhookDeleted, updateWebhook } from './webhooks.queries.ts'

/**
 * Creates a webhook and records NEW_WEBHOOK for the channel's audience. The token is only in the response. The response that
 * is stored for an `Idempotency-Key` is encrypted.
 * @throws ApiError 400 when the name is refused, or there is no such channel; as `once` for the key.
 */
export function createWebhook(
  { db, seals, config }: Pick<Deps, 'db' | 'seals' | 'config'>,
  context: RequestContext,
  requested: { name: string; channelId: string },
  key?: string,
): Promise<CreatedWebhook> {
  const { caller, ip, now } = context
  const name = readName(requested.name, 'name', limits.webhookName)
  const { token, tokenHash } = createWebhookToken()
  const secret = createWebhookToken()

  const claim = claimOf(caller.userId, key, 'POST /webhooks', name, requested.channelId)

  return once(db, { claim, now, form: sealed(seals) }, create)

  async function create(trx: Transaction): Promise<CreatedWebhook> {
    await lockCallerAsAdmin(trx, context)
    const channel = await findChannel(trx, requested.channelId, { lock: true })
    if (!channel || channel.kind === 'direct') throw invalid('channelId must be the id of a channel')

    const webhook = { id: uuidv7(), name, channelId: channel.id, createdBy: caller.userId, createdAt: now }
    await insertWebhook(trx, { ...webhook, tokenHash, secretHash: secret.tokenHash })
    await record(trx, {
      type: 'NEW_WEBHOOK',
      payload: { id: webhook.id, name, channelId: channel.id },
      routing: audienceOf(channel),
    })
    await audit(trx, {
      action: 'webhook.create',
      actorId: caller.userId,
      targetType: 'webhook',
      targetId: webhook.id,
      metadata: { name, channelId: channel.id },
      ip,
    })

    return {
      ...webhook,
      lastPostedAt: null,
      isOrphaned: false,
      token,
      url: addressOf(config, webhook.id, secret.token),
    }
  }
}

export type CreatedWebhook = ListedWebhook & { token: string; url: string }

/** The address of a webhook. Everybody who knows it can post. */
const addressOf = ({ auth }: Pick<Deps['config'], 'auth'>, id: string, secret: string) =>
  `${auth.appUrl}/hooks/${id}/${secret}`

/**
 * Replaces the address of a webhook. The new address is only in the response. The old one stops working.
 * @throws ApiError 404 when there is no such webhook.
 */
export function renewAddress(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  context: RequestContext,
  webhookId: string,
): Promise<string> {
  const { caller, ip } = context
  return db.transaction().execute(async (trx) => {
    await lockCallerAsAdmin(trx, context)
    const webhook = await findWebhook(trx, webhookId)
    const { token: secret, tokenHash: secretHash } = createWebhookToken()
    if (!webhook || !(await updateWebhook(trx, webhook.id, { secretHash }))) throw notFound('webhook')
    await audit(trx, {
      action: 'webhook.url',
      actorId: caller.userId,
      targetType: 'webhook',
      targetId: webhook.id,
      metadata: { name: webhook.name, channelId: webhook.channelId },
      ip,
    })
    return addressOf(config, webhook.id, secret)
  })
}

const sealed = (seals: Seals): ResponseForm<CreatedWebhook> => ({
  write: (created) => seals.seal(JSON.stringify(created)),
  read(stored) {
    const text = seals.open(stored)
    if (text === undefined) throw invalid('The webhook of this Idempotency-Key cannot be shown any more: use a new key')
    return JSON.parse(text)
  },
})

/**
 * Deletes a webhook and records DELETE_WEBHOOK for the channel's audience. @throws ApiError 404 when there is no such
 * webhook.
 */
export function deleteWebhook(db: Database, context: RequestContext, webhookId: string): Promise<void> {
  const { caller, ip, now } = context
  return db.transaction().execute(async (trx) => {
    await lockCallerAsAdmin(trx, context)
    const webhook = await findWebhook(trx, webhookId)
    const channel = webhook && (await findChannel(trx, webhook.channelId, { lock: true }))
    if (!channel || !(await markWebhookDeleted(trx, webhook.id, now))) throw notFound('webhook')

    await record(trx, {
      type: 'DELETE_WEBHOOK',
      payload: { id: webhook.id, channelId: channel.id },
      routing: audienceOf(channel),
    })
    await audit(trx, {
      action: 'webhook.delete',
      actorId: caller.userId,
      targetType: 'webhook',
      targetId: webhook.id,
      metadata: { name: webhook.name, channelId: channel.id },
      ip,
    })
  })
}

/**
 * Makes the caller responsible for an orphaned webhook, and records UPDATE_WEBHOOK for the admins. With `renewToken` it
 * gets a new token and a new address, which are only in the response, because the person who left may know the old ones.
 * @throws ApiError 404 when there is no such webhook, 400 when an admin is already responsible for it.
 */
export function takeOverWebhook(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  context: RequestContext,
  webhookId: string,
  { renewToken }: { renewToken: boolean },
): Promise<ListedWebhook & { token?: string; url?: string }> {
  const { caller, ip } = context
  return db.transaction().execute(async (trx) => {
    await lockCallerAsAdmin(trx, context)
    const webhook = await findWebhook(trx, webhookId)
    // Of several admins who try it at the same time only one succeeds, because of the channel's lock.
    const channel = webhook && (await findChannel(trx, webhook.channelId, { lock: true }))
    const current = channel && (await findWebhook(trx, webhookId))
    if (!current) throw notFound('webhook')
    if (!current.isOrphaned) throw invalid('An admin is already responsible for this webhook')

    const { token, tokenHash } = createWebhookToken()
    const secret = createWebhookToken()
    const owner = { createdBy: caller.userId }
    const renewed = { tokenHash, secretHash: secret.tokenHash }
    if (!(await updateWebhook(trx, current.id, renewToken ? { ...owner, ...renewed } : owner)))
      throw notFound('webhook')
    const taken = { ...current, ...owner, isOrphaned: false }
    await recordWebhookOwnership(trx, [taken], { isOrphaned: false })
    await audit(trx, {
      action: 'webhook.take-over',
      actorId: caller.userId,
      targetType: 'webhook',
      targetId: current.id,
      metadata: { name: current.name, channelId: current.channelId, from: current.createdBy, renewToken },
      ip,
    })
    return renewToken ? { ...taken, token, url: addressOf(config, current.id, secret.token) } : taken
  })
}
